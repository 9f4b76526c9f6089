"""The small edits that lead from one text to another. Texts in, edits out: no clock, no document.

Three passes, each looking only where the one before found no match: lines, words, letters. Blanks never match by
themselves: they only follow what stands beside them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mesh.pages.text_matching import TABLE_CELLS, Matching, same_end, same_start

_JOINER = "\u200d"
_FLAG_LETTERS = 64  # how many regional indicators are looked at to tell pairs apart


def is_inside_cluster(text: str, at: int) -> bool:
    """Whether the border before `text[at]` falls inside a visible character."""
    if not 0 < at < len(text):
        return False
    after = text[at]
    if after < "\u0300" and text[at - 1] < "\u0300":  # Latin letters, all but always
        return False
    if text[at - 1] == _JOINER or after == _JOINER:
        return True
    if unicodedata.category(after)[0] == "M" or _is_skin_tone(after):  # variation selectors are marks too
        return text[at - 1] != "\n"
    if not _is_flag_letter(after):
        return False
    letters = 0
    while letters < min(at, _FLAG_LETTERS) and _is_flag_letter(text[at - 1 - letters]):
        letters += 1
    return letters % 2 == 1


def _is_skin_tone(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


_LARGE = 16 * TABLE_CELLS  # a word and its blank are about five characters: up to here a gap's words fit one table
_LETTERS_OF_A_LINE = 4  # what a line needs to be a landmark between two changes; "}" and "```" stand everywhere
_WORD_CHARS = 100  # longer ones may be cut
_SLIDE_CHARS = 1000  # how far an edit may be moved to begin where a line begins
_CLUSTER_CHARS = 64  # how far an edit may grow to keep a cluster whole

_LINE = re.compile(r"\S(?:.*\S)?")
# Scripts written without blanks between words are compared letter by letter.
_WORD = re.compile(r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0010ffff]+|\S")
_PHRASE = re.compile(r"\S+(?:[^\S\n]+\S+){0,2}")
_PIECE = re.compile(_WORD.pattern + r"|\s+")


class Edit(NamedTuple):
    """One change of a text: `removed` characters at `at` (in the text before all edits) give way to `inserted`."""

    at: int
    removed: int
    inserted: str


class _Gap(NamedTuple):
    """A range of the old text and the range of the new one that stands in its place."""

    start: int
    end: int
    new_start: int
    new_end: int


def edits(old: str, new: str, *, keep_every_word: bool = False) -> list[Edit]:
    """The edits that make `old` into `new`: ascending, not overlapping, none of them empty.

    Words that two otherwise unrelated passages share by chance are replaced with the passage, unless asked to keep them.
    """
    if old == new:
        return []
    start = same_start(old, new)
    start = old.rfind("\n", 0, start) + 1
    end = same_end(old, new, min(len(old), len(new)) - start)
    if end:  # back to the end of a line, so that no line is cut
        at = old.find("\n", len(old) - end)
        end = len(old) - at if at >= 0 else 0
    comparison = _Comparison(old, new, keep_every_word=keep_every_word)
    whole = _Gap(start, len(old) - end, start, len(new) - end)
    changes = [
        change
        for lines in comparison.by_lines(whole)
        for phrases in comparison.by_phrases(lines)
        for words in comparison.by_words(phrases)
        for change in comparison.by_letters(words)
    ]
    return _tidy(old, new, changes)


def applied(old: str, changes: Sequence[Edit]) -> str:
    """The text that the edits make of `old`."""
    pieces: list[str] = []
    done = 0
    for edit in changes:
        pieces += (old[done : edit.at], edit.inserted)
        done = edit.at + edit.removed
    pieces.append(old[done:])
    return "".join(pieces)


class _Comparison:
    """Two texts, and how much work may still go into comparing them."""

    def __init__(self, old: str, new: str, *, keep_every_word: bool) -> None:
        self.old = old
        self.new = new
        self.keep_every_word = keep_every_word
        self.matching = Matching()

    def by_lines(self, gap: _Gap) -> Iterator[_Gap]:
        """What is left of a gap when its equal lines are taken out."""
        kept = self._runs(_LINE, gap)
        yield from _between(gap, [run for run in kept if _is_landmark(self.old[run.start : run.end])])

    def by_words(self, gap: _Gap) -> Iterator[_Gap]:
        """What is left of a gap when its equal words are taken out; the gap itself where the texts have little in common."""
        if gap.start == gap.end or gap.new_start == gap.new_end:
            yield gap
            return
        gap = self._trimmed(gap)
        kept = self._runs(_WORD, gap)
        if self.keep_every_word:
            yield from _between(gap, kept)
            return
        kept = _without_strays(gap, kept)
        inside = sum(run.end - run.start for run in kept)
        if 3 * inside < min(gap.end - gap.start, gap.new_end - gap.new_start):
            kept = []
        yield from _between(gap, kept)

    def by_letters(self, gap: _Gap) -> Iterator[_Gap]:
        """A gap without the blanks and the beginning and end of a word that are equal on both sides."""
        start, end, new_start, new_end = gap
        old, new = self.old[start:end], self.new[new_start:new_end]
        blank = same_start(old[: len(old) - len(old.lstrip())], new[: len(new) - len(new.lstrip())])
        old, new = old[blank:], new[blank:]
        tail = same_end(old[len(old.rstrip()) :], new[len(new.rstrip()) :])
        start, new_start, end, new_end = start + blank, new_start + blank, end - tail, new_end - tail
        old, new = self.old[start:end], self.new[new_start:new_end]
        if not old or not new:
            yield _Gap(start, end, new_start, new_end)
            return
        olds, news = _PIECE.findall(old), _PIECE.findall(new)
        if len(olds) == len(news) and all(map(_are_alike, olds, news)):
            for before, after in zip(olds, news, strict=True):
                head = same_start(before, after)
                tail = same_end(before, after, min(len(before), len(after)) - head)
                yield _Gap(start + head, start + len(before) - tail, new_start + head, new_start + len(after) - tail)
                start, new_start = start + len(before), new_start + len(after)
            return
        head = _worth(same_start(olds[0], news[0]), olds[0], news[0])
        most = min(len(old), len(new)) - head
        tail = min(most, _worth(same_end(olds[-1], news[-1]), olds[-1], news[-1]))
        yield _Gap(start + head, end - tail, new_start + head, new_end - tail)

    def by_phrases(self, gap: _Gap) -> Iterator[_Gap]:
        """What is left of a gap too large to be compared word by word when its equal phrases are taken out."""
        if (gap.end - gap.start) * (gap.new_end - gap.new_start) > _LARGE:
            yield from _between(gap, self._runs(_PHRASE, gap))
        else:
            yield gap

    def _trimmed(self, gap: _Gap) -> _Gap:
        """A gap without the equal whole words at its ends: an edit inside a long line leaves little to compare."""
        old, new = self.old[gap.start : gap.end], self.new[gap.new_start : gap.new_end]
        head = same_start(old, new)
        for _ in range(min(head, _WORD_CHARS)):
            if not old[head - 1].isalnum():
                break
            head -= 1
        tail = same_end(old, new, min(len(old), len(new)) - head)
        for _ in range(min(tail, _WORD_CHARS)):
            if not old[-tail].isalnum():
                break
            tail -= 1
        return _Gap(gap.start + head, gap.end - tail, gap.new_start + head, gap.new_end - tail)

    def _runs(self, token: re.Pattern[str], gap: _Gap) -> list[_Gap]:
        """The longest equal ranges of a gap that begin and end with an equal token."""
        olds = [match.span() for match in token.finditer(self.old, gap.start, gap.end)]
        news = [match.span() for match in token.finditer(self.new, gap.new_start, gap.new_end)]
        old_texts = [self.old[start:end] for start, end in olds]
        new_texts = [self.new[start:end] for start, end in news]
        runs: list[_Gap] = []
        for at, new_at in self.matching.pairs(old_texts, new_texts):
            (start, end), (new_start, new_end) = olds[at], news[new_at]
            if runs:
                last = runs[-1]
                if self.old[last.end : start] == self.new[last.new_end : new_start]:
                    start, new_start = last.start, last.new_start
                    runs.pop()
            runs.append(_Gap(start, end, new_start, new_end))
        return runs


def _between(gap: _Gap, kept: list[_Gap]) -> Iterator[_Gap]:
    """What lies between the equal ranges of a gap."""
    start, new_start = gap.start, gap.new_start
    for run in kept:
        if start < run.start or new_start < run.new_start:
            yield _Gap(start, run.start, new_start, run.new_start)
        start, new_start = run.end, run.new_end
    if start < gap.end or new_start < gap.new_end:
        yield _Gap(start, gap.end, new_start, gap.new_end)


def _is_landmark(text: str) -> bool:
    """Whether equal lines are more than a bracket or a rule that stands everywhere."""
    return sum(map(str.isalnum, text[:200])) >= _LETTERS_OF_A_LINE


def _without_strays(gap: _Gap, runs: list[_Gap]) -> list[_Gap]:
    """Leave out equal words that stand alone between much larger replacements: they are there by chance."""
    kept: list[_Gap] = []
    for place, run in enumerate(runs):
        kept.append(run)
        after = runs[place + 1] if place + 1 < len(runs) else _Gap(gap.end, gap.end, gap.new_end, gap.new_end)
        while kept:
            last = kept[-1]
            first = kept[-2] if len(kept) > 1 else _Gap(gap.start, gap.start, gap.new_start, gap.new_start)
            removed = (last.start - first.end, after.start - last.end)
            inserted = (last.new_start - first.new_end, after.new_start - last.new_end)
            least = min(max(removed[0], inserted[0]), max(removed[1], inserted[1]))
            if not any(removed) or not any(inserted) or 3 * (last.end - last.start) > least:
                break
            kept.pop()
    return kept


def _are_alike(old: str, new: str) -> bool:
    """Whether one word was made from the other."""
    head = same_start(old, new)
    return 2 * (head + same_end(old, new, min(len(old), len(new)) - head)) >= max(len(old), len(new))


def _worth(same: int, old: str, new: str) -> int:
    """How many of `same` letters to keep of two words: none, if they are few."""
    return same if 3 * same > max(len(old), len(new)) else 0


def _tidy(old: str, new: str, changes: list[_Gap]) -> list[Edit]:
    """The edits of some gaps: none empty, neighbours made one, no border inside a character of several code points."""
    changes = [gap for gap in changes if gap.start < gap.end or gap.new_start < gap.new_end]
    stops = [gap.start for gap in changes[1:]] + [len(old)]
    whole: list[_Gap] = []
    done = 0
    for (start, end, new_start, new_end), stop in zip(changes, stops, strict=True):
        back = on = 0
        while back < min(_CLUSTER_CHARS, start - done) and (
            is_inside_cluster(old, start - back) or is_inside_cluster(new, new_start - back)
        ):
            back += 1
        while on < min(_CLUSTER_CHARS, stop - end) and (
            is_inside_cluster(old, end + on) or is_inside_cluster(new, new_end + on)
        ):
            on += 1
        done = end
        gap = _Gap(start - back, end + on, new_start - back, new_end + on)
        if whole and gap.start <= whole[-1].end:
            last = whole.pop()
            gap = _Gap(last.start, gap.end, last.new_start, gap.new_end)
        whole.append(gap)
    found: list[Edit] = []
    stops = [*(gap.start for gap in whole[1:]), len(old)]
    done = 0
    for gap, stop in zip(whole, stops, strict=True):
        start, end, new_start, new_end = _slid(old, new, gap, done, stop)
        edit = Edit(start, end - start, new[new_start:new_end])
        if found and start == done:
            before = found.pop()
            edit = Edit(before.at, before.removed + edit.removed, before.inserted + edit.inserted)
        found.append(edit)
        done = end
    return found


def _slid(old: str, new: str, gap: _Gap, least: int, most: int) -> _Gap:
    """An insertion or deletion moved to where it takes whole lines, or else whole words, without changing its effect."""
    start, end, new_start, new_end = gap
    if start < end and new_start < new_end:
        return gap
    text, first, last = (old, start, end) if start < end else (new, new_start, new_end)
    piece = text[first:last]
    back = min(same_end(text[max(first - _SLIDE_CHARS, 0) : first], piece), start - least)
    on = min(same_start(piece, text[last : last + _SLIDE_CHARS]), most - end)
    best = max(range(-back, on + 1), key=lambda move: (_border(text, first + move), -abs(move)))
    slid = _Gap(start + best, end + best, new_start + best, new_end + best)
    if any(map(is_inside_cluster, (old, old, new, new), slid)):
        return gap
    return slid


def _border(text: str, at: int) -> int:
    """How good a place is for an edit to begin: a paragraph, a line, a word, or inside one."""
    if at == 0 or text[at - 1] == "\n":
        return 3 if at < 2 or text[at - 2] == "\n" else 2
    return int(not text[at - 1].isalnum() and at < len(text) and text[at].isalnum())
