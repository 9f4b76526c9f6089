"""The table of clients and features in docs/CLIENTS.md: read as what is expected, written from what was seen."""

import os
import re
from datetime import UTC, datetime

import pytest

from tests.clients import installation
from tests.clients.clients import CLIENTS

DOCUMENT = installation.ROOT / "docs" / "CLIENTS.md"
UPDATE = "MESH_CLIENTS_UPDATE"  # in the environment: write the document
YES, NO, NOT_OFFERED, NOT_TRIED = "yes", "no", "not offered", "not tried"
_BEGIN, _END = "<!-- made by make clients UPDATE=1 -->", "<!-- end -->"

Cell = tuple[str, str]  # feature, client


class FeatureTable:
    """What the document says, and what was seen in this run."""

    def __init__(self) -> None:
        self._expected = _read()
        self._seen: dict[Cell, str] = {}

    def said(self, feature: str, client: str) -> str:
        """The cell in the document."""
        return self._expected.get((feature, client), NOT_TRIED)

    def saw(self, report: pytest.TestReport) -> None:
        """What became of a test, in one of its phases. Several tests may fill a cell: the worst counts."""
        named = next((str(value) for name, value in report.user_properties if name == "cell"), "")
        if not named:
            return
        feature, client = named.split("\t")
        cell = (feature, client)
        if report.failed or (report.skipped and hasattr(report, "wasxfail")):
            self._seen[cell] = NO
        elif report.skipped:
            is_lacking = "not offered" in str(report.longrepr)
            self._seen.setdefault(cell, NOT_OFFERED if is_lacking else NOT_TRIED)
        elif report.when == "call":
            self._seen.setdefault(cell, YES)

    def finish(self) -> list[str]:
        """Write the document, if that is asked for; else say where it is too modest. Nothing, if nothing was tried."""
        if not set(self._seen.values()) & {YES, NO}:
            return []
        if os.environ.get(UPDATE):
            _write(self._expected | self._seen)
            return [f"{DOCUMENT} was written: read the difference before you commit it"]
        better = [cell for cell, saw in self._seen.items() if saw == YES and self._expected.get(cell) != YES]
        return [
            f"{client}: {feature}: works, and {DOCUMENT.name} does not say so; next: make clients UPDATE=1"
            for feature, client in better
        ]


def _rows(text: str) -> list[list[str]]:
    part = text.partition(_BEGIN)[2].partition(_END)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not re.match(r"\|-", line)]


def _read() -> dict[Cell, str]:
    try:
        rows = _rows(DOCUMENT.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {(row[0], client.name): cell for row in rows[2:] for client, cell in zip(CLIENTS, row[1:], strict=True)}


def _write(cells: dict[Cell, str]) -> None:
    features = list(dict.fromkeys(feature for feature, _ in cells))
    lines = [
        "| | " + " | ".join(client.title for client in CLIENTS) + " |",
        "|---" * (len(CLIENTS) + 1) + "|",
        "| version | " + " | ".join(installation.version(client.name) for client in CLIENTS) + " |",
    ]
    for feature in features:
        said = (cells.get((feature, client.name), NOT_TRIED) for client in CLIENTS)
        lines.append(f"| {feature} | {' | '.join(said)} |")
    day = datetime.now(UTC).date().isoformat()
    table = f"{_BEGIN}\n\nSeen on {day}:\n\n" + "\n".join(lines) + f"\n\n{_END}"
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    DOCUMENT.write_text(before + table + rest.partition(_END)[2], encoding="utf-8")
