"""A desk in a process of its own, beside a sidecar that may run: what the sidecar knows better is asked there first."""

from __future__ import annotations

from mesh.app.client import search_errand
from mesh.app.desk import Desk

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any


class AskingDesk(Desk):
    """Not for the sidecar itself: it would ask itself."""

    def search(self, query: str, **asked: Any) -> dict[str, Any]:
        """Records that fit a question, best first."""
        if self.bound is not None:
            self._refuse_others(asked.get("repo"))
        return search_errand(self.home, self.place, query, bound=self.bound, **asked) or super().search(query, **asked)
