"""Signals and candidates for tests. No test lives here."""

from typing import Any

from clan_learnings.harvest.candidates import HarvestCandidate, Signal
from clan_learnings.harvest.clusters import clustered
from clan_learnings.harvest.items import CORRECTION, FACT, HarvestItem

API, WEB = "github.com/acme/api", "github.com/acme/web"


def correction(wrong: str = "npm install", right: str = "pnpm install", **more: Any) -> HarvestItem:
    """What a person put right."""
    said: dict[str, Any] = {
        "kind": CORRECTION,
        "text": f"Use {right}, not {wrong}.",
        "line": 7,
        "confidence": 0.9,
        "source": "human",
    }
    return HarvestItem(**said | {"wrong": wrong, "right": right} | more)


def fact(text: str = "The staging database of billing needs TLS 1.3.", **more: Any) -> HarvestItem:
    """Something that is so."""
    said: dict[str, Any] = {"kind": FACT, "text": text, "line": 3, "confidence": 0.7}
    return HarvestItem(**said | more)


def signal(item: HarvestItem, session: str = "codex:1", repo: str = API, **more: Any) -> Signal:
    """What one session says."""
    return Signal(session, session.partition(":")[0], repo, item, **more)


def candidate(*signals: Signal) -> HarvestCandidate:
    """What they amount to, if they are one."""
    (found,) = clustered(signals)
    return found
