"""A session that does a little of everything, and goes on in a second run of the client. What was sent in it is looked at by many tests."""

import json
from typing import Any

from clan_learnings.records.spool import FOLDER, POINTERS
from tests.clients.machine import Machine, tool_that_takes
from tests.clients.model_server import Request, Step
from tests.end_to_end.commands import MESH

BY_TOOL = "the tests of the shop need the database of docker compose"
BY_COMMAND = "the fixture loader ignores rows above 500"
_PROMPT = "Please load the config with yaml.load. (task first)"
OBJECTION = "No, that is wrong. Never use npm install in this repository, use pnpm install."


class FirstSession:
    """It has happened when this was made."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        client = machine.client
        machine.model.script(
            "first",
            Step("I look.", client.shell("./frobnicate --all")),
            Step("", client.ours(tool_that_takes("text"), {"text": BY_TOOL})),
            Step("", client.shell(f"{MESH} discover '{BY_COMMAND}'")),
            Step("I install what is missing.", client.shell("echo npm install")),
            Step("I ran npm install."),
        )
        machine.model.script(
            "resumed", Step("You are right.", client.shell("echo pnpm install")), Step("Done with pnpm.")
        )
        machine.say(_PROMPT)
        self.pointers = self._pointers()  # at once: the node takes them away
        machine.say(f"{OBJECTION} (task resumed)", again=True)

    def _pointers(self) -> list[dict[str, Any]]:
        path = self.machine.home / FOLDER / POINTERS
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def turns(self) -> list[Request]:
        """What the model was sent in the first run."""
        turns = self.machine.model.turns("first")
        assert turns, "the model was never asked"
        return turns

    @property
    def resumed(self) -> Request:
        """What it was sent first in the second."""
        turns = self.machine.model.turns("resumed")
        assert turns, "the session was not resumed"
        return turns[0]
