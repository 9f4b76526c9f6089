"""What models are told, as files that people can read and change. No code but what finds them; nothing about sessions."""

import os


def prompt(name: str) -> str:
    """The text of a prompt."""
    with open(os.path.join(os.path.dirname(__file__), f"{name}.md"), encoding="utf-8") as file:
        return file.read()
