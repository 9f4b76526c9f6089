"""Every benchmark, each beside its peers in the same run: `python -m bench [NAME ...]`.

Measures only: nothing here is imported by the product, and no test depends on a speed.
"""

import mesh.app.store_registry  # noqa: F401 (registers them)
