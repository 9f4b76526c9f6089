"""Tests, and what they share. Subjects are registered here, so that processes which tests start as modules have them, too."""

import mesh.app.store_registry  # noqa: F401 (registers them)
