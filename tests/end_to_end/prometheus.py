"""Prometheus text, read strictly: what a collector would refuse is an error here. No test lives here.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import re
from typing import NamedTuple

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL}(?:,{_LABEL})*)?)\}})? (\S+)")
_HELP = re.compile(rf"# HELP ({_NAME}) .+")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped)")

Labels = frozenset[tuple[str, str]]


class Family(NamedTuple):
    """One metric: its kind, and its samples by their labels."""

    kind: str
    samples: dict[Labels, float]

    def by(self, label: str) -> dict[str, float]:
        """The samples by the value of their one label."""
        return {dict(labels)[label]: value for labels, value in self.samples.items()}


def parse(text: str) -> dict[str, Family]:
    """Every family of a text; raises AssertionError for what is not in the format."""
    assert text.endswith("\n"), "the last line has no end"
    families: dict[str, Family] = {}
    helped = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            match = _HELP.fullmatch(line)
            assert match, line
            helped = match[1]
        elif line.startswith("# TYPE "):
            match = _TYPE.fullmatch(line)
            assert match, line
            assert match[1] == helped, f"a type without a help: {line}"
            assert match[1] not in families, f"twice: {line}"
            families[match[1]] = Family(match[2], {})
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] in families, f"a sample without a type: {line}"
            pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', match[2] or "")
            labels = frozenset(pairs)
            assert labels not in families[match[1]].samples, f"twice: {line}"
            families[match[1]].samples[labels] = float(match[3])
    return families
