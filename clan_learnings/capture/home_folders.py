"""Home folders in text become `~`: whose machine it was is nobody's business. Knows no other private thing."""

import re

# The user of an address is no folder: in `//root:password@host` redaction has to see the password.
# A name ends where a path goes on or ends. Backslashes may be escaped, once or more often, as in JSON inside JSON.
_ENDS = r"\s\x1b/\\\"'`<>|:;,*?()\[\]{}&$="
_NAME = rf"[^{_ENDS}]+"
# Where a path may begin: not inside another one. The end of a colour code and an escaped line break are letters to `re`.
_EDGE = r"(?:(?<![\w.~-])|(?<=\[[0-9]m)|(?<=[0-9][0-9]m)|(?<=\[[mK])|(?<=\\[nrt]))"
_HOMES = re.compile(
    rf"{_EDGE}(?:/(?:home|Users|export/home)/{_NAME}|/var/home/{_NAME}|/root(?![\w.-]|:[^\s/@]*@)"
    rf"|[A-Za-z]:(?:\\+|/)Users(?:\\+|/){_NAME}|/mnt/[a-z]/Users/{_NAME}|/[a-z]/Users/{_NAME})"
)
# A path as the name of one folder, as Claude Code names those of its projects: `projects/-Users-ada-work`. Where the user's
# name ends cannot be told if it has a hyphen in it; the first part goes.
_ENCODED = re.compile(rf"(?<=[/\\])(?:[A-Za-z]-)?-(?:var-|export-|mnt-[a-z]-)?(?:home|Users)-[^{_ENDS}-]+")
_SIGNS = ("/home/", "/Users", "/root", "\\Users", "-Users-", "-home-")


def homeless(text: str) -> str:
    """The text with `~` for every home folder. Works on JSON as it is written too."""
    if not any(sign in text for sign in _SIGNS):
        return text
    text = _HOMES.sub("~", text)
    return _ENCODED.sub("-~", text) if "-Users-" in text or "-home-" in text else text
