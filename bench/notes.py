"""Notes as coding agents write them: the same text in every run, made one by one. Knows no store.

Words follow Zipf's law over a vocabulary of 20,000, so that a keyword index is as large as a real one.
"""

import random
from collections.abc import Iterator
from itertools import accumulate

VOCABULARY = 20_000
_WORDS_A_NOTE = (16, 36)  # with the fields beside it, a body of about 300 bytes

# Rank 1 comes first: what technical notes are mostly made of.
_COMMON_TEXT = """
the to of a in and is that for it on with not be as when by from this are or if at an was only after before error test
file must fails because value returns default use run while without set build server request timeout cache lock branch
config type import python database query index retry version deploy token path module client header response connection
process thread memory commit merge rebase docker container pipeline job queue schema migration column table row
transaction rollback socket port proxy certificate handshake webhook endpoint payload field parser encoding buffer
stream flush kernel signal permission environment variable secret package dependency lockfile compiler linker runtime
stack trace exception warning log level flag option argument command shell script hook session agent context prompt
pattern correction discovery workaround undocumented behaviour performance latency throughput leak
"""
_SYLLABLE_TEXT = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru pla ste tri spo qua"
_COMMON, _SYLLABLES = _COMMON_TEXT.split(), _SYLLABLE_TEXT.split()
_REPOS = tuple(f"github.com/clan/{name}" for name in ("api", "web", "billing", "ingest", "infra", "mobile", "docs"))
_AGENTS = ("claude-code", "codex", "gemini-cli")
_NOTES_A_SESSION = 40


def notes(count: int, seed: int = 1) -> Iterator[dict[str, str]]:
    """So many records, each made when it is asked for."""
    chance = random.Random(seed)
    words = vocabulary()
    weights = zipf(len(words))
    session, agent, repo = "", "", ""
    for number in range(count):
        if number % _NOTES_A_SESSION == 0:
            session, agent, repo = f"{chance.getrandbits(48):012x}", chance.choice(_AGENTS), chance.choice(_REPOS)
        length = chance.randint(*_WORDS_A_NOTE)
        text = " ".join(chance.choices(words, cum_weights=weights, k=length))
        yield {"text": text.capitalize() + ".", "repo": repo, "agent": agent, "session": session}


def zipf(ranks: int) -> list[float]:
    """The weights of so many ranks, each added to those before it. After Mandelbrot."""
    return list(accumulate(1 / (rank + 2.7) for rank in range(ranks)))


def vocabulary() -> list[str]:
    """Common words first, then made-up names, some of them shaped like identifiers and error codes."""
    chance = random.Random(0)
    words = dict.fromkeys(_COMMON)
    while len(words) < VOCABULARY:
        word = "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))
        shape = chance.random()
        if shape < 0.10:
            word = f"{word}_{chance.choice(_COMMON)}"
        elif shape < 0.13:
            word = f"E{chance.randint(1000, 9999)}"
        elif shape < 0.16:
            word = f"{word}.py"
        words[word] = None
    return list(words)
