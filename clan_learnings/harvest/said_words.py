"""A person's words, one by one, as rules about them compare them: small letters, without the marks around. What they mean is not told here."""

AROUND = '.,;:!?"()[]*_\u201c\u201d\u2026'  # not an apostrophe: `don't` is a word


def said_words(text: str) -> list[str]:
    """Every word, in order."""
    words = (word.strip(AROUND) for word in text.lower().replace("\u2019", "'").split())
    return [word for word in words if word]
