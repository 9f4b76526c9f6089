"""Home folders in text become `~`: whose machine it was is nobody's business. Knows no other private thing."""

import re

# The user of an address is no folder: in `//root:password@host` redaction has to see the password.
# A name ends where a path goes on or ends. Backslashes may be escaped, once or more often, as in JSON inside JSON.
_NAME = r"[^\s/\\\"'`<>|:;,*?()\[\]{}&$=]+"
_HOMES = re.compile(
    rf"(?<![\w.~-])(?:/(?:home|Users|export/home)/{_NAME}|/var/home/{_NAME}|/root(?![\w.-]|:[^\s/@]*@)"
    rf"|[A-Za-z]:(?:\\+|/)Users(?:\\+|/){_NAME}|/mnt/[a-z]/Users/{_NAME}|/[a-z]/Users/{_NAME})"
)
_SIGNS = ("/home/", "/Users", "/root", "\\Users")


def homeless(text: str) -> str:
    """The text with `~` for every home folder. Works on JSON as it is written too."""
    if not any(sign in text for sign in _SIGNS):
        return text
    return _HOMES.sub("~", text)
