"""Where one visible character of several code points must not be cut: marks, joined emoji, flags."""

import unicodedata

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
