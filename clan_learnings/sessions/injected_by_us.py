"""Text that the mesh itself injected into a session, taken out of its events: what we told an agent is not what it learned.

Our text comes in by hooks, by answers of our MCP server, by `mesh` commands, by rendered files, and again when the model or a
summary repeats it. Marked text is known by its mark; calls of ours by their names; what is repeated without a mark by its
words, which were seen before. What a person types is theirs, also if we said it first.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from clan_learnings.context.injected_mark import NAME, is_ours, without_ours
from clan_learnings.sessions.command_lines import commands_in
from clan_learnings.sessions.transcript_events import Kind, SessionEvent

_PROGRAM = "mesh"
_FILES = frozenset(("memory.md", "patterns.md", "corrections.md", "discoveries.jsonl", "patterns.jsonl"))
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "filename", "file", "target_file")
_WORD = re.compile(r"[^\W_]{3,}")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_LEAST_WORDS = 4  # of a sentence that is known again
_SHARE = 0.7  # of its words must be in one sentence of ours
_SENTENCES = 1_000  # of ours, kept for comparing
_KNOWN = 5_000  # answers that are remembered
_CHARS = 60_000  # of one text, that are compared
_QUOTERS = (Kind.REPLY, Kind.THOUGHT, Kind.RESULT)
_COMMON = frozenset(
    """
    the and for with that this from are was were you your have has had not but all
    can will would should into its our out use used using when then than them they there here
    what which who how why also just only about been being more most some any each per via
    """.split()  # noqa: SIM905 (words, not a list of them)
)


class InjectedText(NamedTuple):
    """The text that we showed to a session so far, sentence by sentence, as sets of words."""

    sentences: list[frozenset[str]]
    by_word: dict[str, list[int]]
    known: dict[tuple[frozenset[str], bool], bool]  # what was asked already: models repeat themselves

    def add(self, text: str) -> None:
        """Something of ours was shown."""
        for sentence in _sentences(text):
            words = words_of(sentence)
            if len(words) >= _LEAST_WORDS and len(self.sentences) < _SENTENCES:
                for word in words:
                    self.by_word.setdefault(word, []).append(len(self.sentences))
                self.sentences.append(words)
                self.known.clear()

    def has(self, sentence: str, *, is_whole: bool = False) -> bool:
        """Whether a sentence says what one of ours said; or, `is_whole`, all that one of ours said."""
        words = words_of(sentence)
        if len(words) < _LEAST_WORDS or not self.sentences:
            return False
        key = (words, is_whole)
        if key not in self.known:
            if len(self.known) > _KNOWN:
                self.known.clear()
            self.known[key] = self._compared(words, is_whole=is_whole)
        return self.known[key]

    def _compared(self, words: frozenset[str], *, is_whole: bool) -> bool:
        most = None if is_whole else len(words)
        shared: dict[int, int] = {}
        for word in words:
            for number in self.by_word.get(word, ()):
                shared[number] = shared.get(number, 0) + 1
        return any(
            count >= _SHARE * min(ours := len(self.sentences[number]), most or ours) and count >= _LEAST_WORDS - 1
            for number, count in shared.items()
        )

    def without(self, text: str, *, is_whole: bool = False) -> str:
        """A text without the sentences that are ours."""
        if not self.sentences:
            return text
        kept = [part for part in _split(text[:_CHARS]) if not self.has(part, is_whole=is_whole)]
        return "".join(kept)


def without_injected(events: Iterable[SessionEvent]) -> tuple[list[SessionEvent], InjectedText]:
    """The events without the text that we injected, and that text."""
    ours = InjectedText([], {}, {})
    kept: list[SessionEvent] = []
    own_calls: set[str] = set()
    for event in events:
        if event.kind is Kind.CALL and _is_own_call(event):
            own_calls.add(event.call or f"line {event.line}")
            continue
        if event.kind in (Kind.RESULT, Kind.REFUSAL) and (event.call in own_calls or NAME in event.tool):
            ours.add(event.text)
            continue
        kept.append(_cleaned(event, ours))
    return kept, ours


def words_of(sentence: str) -> frozenset[str]:
    """The words of a sentence that say something."""
    return frozenset(_WORD.findall(sentence.lower())) - _COMMON


def _cleaned(event: SessionEvent, ours: InjectedText) -> SessionEvent:
    text = event.text
    if NAME in text and is_ours(text):
        left = without_ours(text)
        lines = set(left.splitlines())
        ours.add("\n".join(line for line in text.splitlines() if line not in lines))
        text = left
    if event.kind in _QUOTERS and ours.sentences:
        # What a tool prints may be short and about the same: an error that we warned of is an error all the same.
        text = ours.without(text, is_whole=event.kind is Kind.RESULT)
    return event if text is event.text else event._replace(text=text)


def _is_own_call(call: SessionEvent) -> bool:
    if NAME in call.tool or NAME.replace("-", "_") in call.tool:
        return True
    if call.text:
        if _PROGRAM not in call.text and not any(name in call.text.lower() for name in _FILES):
            return False
        return any(
            command.program == _PROGRAM or any(_is_rendered(word) for word in command.words)
            for command in commands_in(call.text)
        )
    return any(isinstance(path := call.arguments.get(key), str) and _is_rendered(path) for key in _PATH_KEYS)


def _is_rendered(path: str) -> bool:
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower() in _FILES


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text.replace("\\n", "\n")[:_CHARS]) if part.strip()]


def _split(text: str) -> list[str]:
    """The sentences of a text with all that stands between them, so that joining gives the text again."""
    parts, at = [], 0
    for found in _SENTENCE.finditer(text):
        parts.append(text[at : found.end()])
        at = found.end()
    return [*parts, text[at:]]
