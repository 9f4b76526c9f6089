# ruff: noqa: RUF001 (other scripts are what is counted)
"""The bound on tokens: against counts of eight real tokenizers, taken once, and for its own laws."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.context.token_bound import at_most_tokens

TREE = Path(__file__).parents[3]

# The text, and the most tokens that any of the vocabularies of ADR 0032 makes of it.
MEASURED = [
    ("Use pnpm in this repo; npm install breaks the links between workspaces.", 17),
    ("The integration tests need a running database, so start the container before you call make test.", 18),
    ("Never push to main directly: open a pull request and wait until somebody has looked at it.", 19),
    ("We lost an hour because the cache kept an old answer; clear it after every change of the schema.", 21),
    ("When the server says that the connection was closed, look at the proxy first, its limit is sixty seconds.", 22),
    ("Dates are stored in local time here, which nobody expects; convert them before you compare.", 18),
    (
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness.",
        29,
    ),
    ("Please read the whole file before changing it, and write the reason for the change into the commit message.", 21),
    ("def at_most(text: str, limit: int = 300) -> str:\n    return text[:limit] if len(text) > limit else text", 37),
    ("for (let i = 0; i < items.length; i++) { if (!seen.has(items[i].id)) out.push(items[i]); }", 38),
    ("kubectl get pods -n kube-system -o jsonpath='{.items[*].metadata.name}' | xargs -n1 echo", 32),
    ("SELECT id, COUNT(*) FROM t_orders WHERE created_at >= '2026-01-01' GROUP BY 1 HAVING COUNT(*) > 3;", 37),
    ("XMLHttpRequest getElementById HTTPServerFactoryBean MAX_RETRY_COUNT", 16),
    ("6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", 56),
    ("D4735E3A265E16EEE03F59718B9B5D03019C07D8B6C51F90DA3A666EEC13AB35", 59),
    ("O6+/CIgqLRATMJOhuEM/UFY7k8FKzQW3kCjrHRJ5kCckFFCYBlGZRQFCOmbCdq4mxDtzm8ZcThaxDDr2wgKuuw==", 62),
    ("jmrho56u3up4mhdprbhuqza5ak2nciot7uzizmelkuy7zlg2x6fa", 34),
    ("7k3qmzpa 2026-11-14 3.14159265358979 550e8400-e29b-41d4-a716-446655440000", 71),
    ("xqzjkvwpfg bdfhjk wvutsr zzyxwv qjqjqj", 25),
    ("!@#$%^&*()_+{}|:<>?~`-=[]\\;',./", 23),
    ("    \t  \n\n   x", 6),
    ("don't 'state 'string it's we'll", 13),
    ("请在提交之前运行测试，否则流水线会失败。", 18),
    ("テストを実行する前にデータベースを起動してください。", 21),
    ("커밋하기 전에 테스트를 실행하세요.", 19),
    ("Перед отправкой запустите тесты.", 14),
    ("Führe die Prüfungen aus, bevor du veröffentlichst.", 19),
    ("قم بتشغيل الاختبارات قبل الإرسال", 28),
    ("कमिट करने से पहले परीक्षण चलाएँ", 34),
    ("รันการทดสอบก่อนที่จะคอมมิต", 47),
    ("የሙከራ ጽሑፍ", 22),
    ("ཁྱེད་རང་", 24),
    ("\U0001f600\U0001f389\U0001f680\U0001f9ea\U0001f6e0\ufe0f\U0001f469\u200d\U0001f469\u200d\U0001f467", 37),
    ("ᚠᛇᚻ᛫ᛒᛦᚦ", 21),
    ("𒀀𒀁𓀀𓀁𐌰𐌱", 24),
    ("鱻龘靐齉爩", 12),
    ("ﷺ ﷻ ㎏ ㌀ 𝕳𝖊𝖑𝖑𝖔 ½", 34),
    ("a → b … ‹x› “y” – z", 14),
]


@pytest.mark.parametrize(("text", "most"), MEASURED)
def test_no_measured_vocabulary_makes_more_tokens(text: str, most: int) -> None:
    """English, code, hex, base64, other scripts, emoji, and letters without sense."""
    assert at_most_tokens(text) >= most


def test_english_prose_is_not_counted_by_bytes() -> None:
    """Within 1.6 times of the greatest true count, over all the English samples."""
    english = MEASURED[:8]
    assert sum(at_most_tokens(text) for text, _ in english) <= 1.6 * sum(most for _, most in english)


@given(st.lists(st.text(max_size=60), max_size=8))
def test_lines_are_counted_one_by_one(lines: list[str]) -> None:
    """A text costs no more than its lines do, so a budget can be kept line by line."""
    assert at_most_tokens("".join(line + "\n" for line in lines)) <= sum(at_most_tokens(line + "\n") for line in lines)


@given(st.text(max_size=80), st.text(max_size=80))
def test_another_word_never_makes_it_less(text: str, more: str) -> None:
    """Monotone in whole words and lines."""
    assert at_most_tokens(f"{text} {more}") >= at_most_tokens(text)
    assert at_most_tokens(f"{more}\n{text}") >= at_most_tokens(text)


@given(st.text(max_size=80))
def test_it_is_never_below_what_codex_counts(text: str) -> None:
    """A quarter of the bytes, rounded up; and never above all bytes but for compatibility forms."""
    size = len(text.encode("utf-8", "surrogatepass"))
    assert at_most_tokens(text) >= -(-size // 4)
    if text.isascii() and "'" not in text:
        assert at_most_tokens(text) <= size


def test_the_start_of_a_hook_loads_nothing_slow() -> None:
    """No module here brings in what a whole command has no time for."""
    slow = "argparse asyncio subprocess apsw msgpack numpy"
    code = f"import sys, clan_learnings.context.composition; print([m for m in {slow.split()!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=TREE, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
