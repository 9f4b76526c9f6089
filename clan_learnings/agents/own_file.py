"""Files that are ours as a whole: skills, rules, policies. One that lacks our mark is a person's, and is left alone."""

import os

from clan_learnings.agents.part import Part
from clan_learnings.agents.skill import MARK, NAME, skill
from clan_learnings.agents.target import Target


def own_file(path: str, text: str, base: str) -> Part:
    """A file of ours. Its text has the mark."""
    assert MARK in text

    def put(present: str) -> str:
        return text if not present.strip() or MARK in present else present

    def take(present: str) -> str:
        return "" if MARK in present else present

    return Part(path, put, take, lambda left: not left, base)


def skill_file(folder: str, target: Target, base: str) -> Part:
    """Our skill in an agent's folder of skills."""
    return own_file(os.path.join(folder, NAME, "SKILL.md"), skill(target.program, MARK), base)
