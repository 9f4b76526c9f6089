"""Home folders become `~`, on every system, in every way they are written."""

import json

import pytest

from clan_learnings.sessions.cleaning import homeless


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("cd /home/ada/shop", "cd ~/shop"),
        ("/Users/ada.lovelace/x and /Users/bob", "~/x and ~"),
        ("C:\\Users\\ada\\shop", "~\\shop"),
        ("c:/Users/ada/shop", "~/shop"),
        ("/root/.ssh", "~/.ssh"),
        ("HOME=/root", "HOME=~"),
        ("file:///home/ada/a.py:3", "file://~/a.py:3"),
        ('"/home/ada"', '"~"'),
        ("/mnt/c/Users/ada/x", "~/x"),
        ("/rooted/x /homes/ada /home", "/rooted/x /homes/ada /home"),
        ("src/home/ada", "src/home/ada"),
        ("https://x.org/home/ada", "https://x.org/home/ada"),
        ("no path", "no path"),
        ("\x1b[90m/Users/ada/shop\x1b[0m", "\x1b[90m~/shop\x1b[0m"),
        ("\x1b[m/home/ada\x1b[K/home/bob/x \x1b[1;31m/root/x", "\x1b[m~\x1b[K~/x \x1b[1;31m~/x"),
        ("\\u001b[0m/home/ada/x\\n/home/ada/y", "\\u001b[0m~/x\\n~/y"),
        ("~/.claude/projects/-Users-ada-work-x/s.jsonl", "~/.claude/projects/-~-work-x/s.jsonl"),
        ("/home/ada/.claude/projects/-home-ada-x", "~/.claude/projects/-~-x"),
        ("projects\\C--Users-ada-x and projects/-mnt-c-Users-ada", "projects\\-~-x and projects/-~"),
        ("stay-at-home-mum java -home-dir x", "stay-at-home-mum java -home-dir x"),
        ("docs/take-home-pay and a/-homes-x", "docs/take-home-pay and a/-homes-x"),
        ("redis://root:secret@host/0", "redis://root:secret@host/0"),
    ],
)
def test_home_folder_becomes_a_tilde(text: str, public: str) -> None:
    """And nothing else does."""
    assert homeless(text) == public


def test_paths_in_written_json_are_found() -> None:
    """Backslashes are doubled there, once or twice."""
    once = json.dumps({"cwd": "C:\\Users\\ada\\shop"})
    assert homeless(once) == '{"cwd": "~\\\\shop"}'
    assert "ada" not in homeless(json.dumps({"arguments": once}))
    assert "ada" not in homeless(json.dumps({"arguments": json.dumps({"cmd": "ls /home/ada/x"})}))


def test_long_text_takes_no_longer_than_its_length() -> None:
    """There is nothing to go back for."""
    assert homeless("/home/ada " * 100_000) == "~ " * 100_000
    no_name = "C:\\Users" + "\\" * 200_000
    assert homeless(no_name) == no_name
