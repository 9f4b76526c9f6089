"""What English words mean when corrections are matched: which say nothing, which say little, which are synonyms.

General English and common abbreviations of programming only, never a tool or a single correction: a word that is not listed is taken
for a name, and different names forbid a match. How a text is cut is in `matching_tokens`, what negation does in `stance`. Everyday
commands import this, so no `re`, `typing` or `dataclasses`.

Every node must read the same words in the same way: a change here changes the slugs of new corrections, and wordings from before and
after it count separately until an alias joins them.
"""


def word_set(words: str) -> frozenset[str]:
    """The words of a text between its blanks: a list that can be read and kept in a few lines."""
    return frozenset(words.split())


# Grammar: says nothing by itself. Negations, contrasts and order are read by `stance` before they are dropped.
STOP = word_set(
    """
    a an the this that these those it its itself they them their there here he she his her him i me my mine we us our
    you your yours who whom whose what which where when while how why whether if then than as at by for from in into
    of off on onto out over per since so such through to toward towards under until unless up upon via with within
    without and or nor but not no yes too very also again already although though because before after during between
    about above below against among around across along inside beside besides behind near be is are was were been being am do does did done doing have
    has had having will would can could should shall may might must ought let lets please never neither either both
    each every some someone something anything everything nothing other others another own same more most less least
    much many few lot lots now still yet ever else even only just always usually often sometimes actually really
    simply instead rather eg ie etc one ones well however therefore thus hence otherwise like
    """
)

# Past forms and plurals that no rule finds.
IRREGULAR = {
    "ran": "run", "wrote": "write", "written": "write", "made": "make", "built": "build", "kept": "keep",
    "goes": "go", "sent": "send", "broke": "break", "broken": "break", "chose": "choose", "chosen": "choose",
    "got": "get", "gotten": "get", "took": "take", "taken": "take", "threw": "throw", "thrown": "throw",
    "caught": "catch", "held": "hold", "lost": "lose", "hid": "hide", "hidden": "hide", "bound": "bind",
    "found": "find", "gave": "give", "knew": "know", "known": "know", "saw": "see", "seen": "see", "shown": "show",
    "went": "go", "gone": "go", "came": "come", "began": "begin", "slept": "sleep", "spent": "spend", "told": "tell",
    "said": "say", "brought": "bring", "bought": "buy", "thought": "think", "meant": "mean", "froze": "freeze",
    "frozen": "freeze", "overwrote": "overwrite", "overwritten": "overwrite", "rewrote": "rewrite",
    "rewritten": "rewrite", "rebuilt": "rebuild", "reran": "rerun", "forgot": "forget", "forgotten": "forget",
    "indices": "index", "children": "child", "people": "person", "aliases": "alias", "used": "use", "using": "use",
}  # fmt: skip

# Words for numbers; "one" is a pronoun more often than a number.
NUMBERS = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "twice": "2", "hundred": "100", "thousand": "1000",
}  # fmt: skip

# Units that stand glued to a number: 30s, 512MB.
UNITS = {
    "ms": "millisecond", "s": "second", "sec": "second", "secs": "second", "m": "minute", "min": "minute",
    "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "kb": "kilobyte", "kib": "kilobyte",
    "mb": "megabyte", "mib": "megabyte", "gb": "gigabyte", "gib": "gigabyte", "px": "pixel",
}  # fmt: skip

# Two words that are one thing, as they are written (folded, not stemmed). Mere compounds (time zone, timezone) are
# found without being listed.
PHRASES = {
    ("pull", "request"): "pr", ("pull", "requests"): "pr", ("merge", "request"): "pr", ("merge", "requests"): "pr",
    ("environment", "variable"): "envvar", ("environment", "variables"): "envvar", ("env", "var"): "envvar",
    ("env", "vars"): "envvar", ("env", "variable"): "envvar", ("by", "hand"): "manual", ("command", "line"): "cli",
    ("hard", "coded"): "hardcode", ("hard", "code"): "hardcode", ("hard", "coding"): "hardcode",
    ("test", "suite"): "test", ("test", "case"): "test", ("test", "cases"): "test", ("turn", "on"): "enable",
    ("turned", "on"): "enable", ("turn", "off"): "disable", ("turned", "off"): "disable", ("type", "hint"): "typehint",
    ("type", "hints"): "typehint", ("type", "annotation"): "typehint", ("type", "annotations"): "typehint",
}  # fmt: skip

# Words that fit every correction: they make a match a little surer and never forbid one. Verbs of doing, making and
# keeping are among them, as long as their opposites are not: "add" may be missing, "remove" may not.
_SOFT = """
    use run call make give take go come try want need work happen set pass provide perform handle choose prefer pick
    favor rely ensure remember expect mean think assume belong contain exist allow support require follow consider
    decide see look find know tell say leave become involve introduce cause notice thing way case place change
    statement tool kind sort stuff behavior approach problem issue mistake reason practice convention rule policy
    guideline purpose detail team developer everyone file code command script project repo wrong correct incorrect
    proper appropriate good bad better best new existing current actual direct straight specific certain plain simple
    normal regular usual common intended available necessary possible sure careful explicit back together everywhere
    anywhere any accidental immediate blind deprecate replace swap switch write implement define declare compute create
    add keep put live store first
"""

# The opposites of soft words: one that only one correction has tells the two apart, wherever it stands.
_UNDOING = "remove close stop disable hide reject revert undo clear"

# Each line means the same in a correction; its first word stands for the others.
_SAME = """
    use utilize utilise employ
    run execute invoke
    create generate
    remove delete drop erase
    add include
    edit modify alter
    fix repair resolve
    answer reply respond response
    manual manually
    automatic auto
    build compile
    update bump upgrade
    check verify
    dependency dep package
    directory dir folder
    repo repository codebase
    config configuration configure cfg
    env environment
    doc documentation
    database db dbs
    pr prs
    id ids
    app application
    auth authentication authenticate
    authz authorization authorize
    function func fn
    parameter param argument arg
    message msg
    production prod
    development dev
    temporary temp tmp
    javascript js
    typescript ts
    python py
    kubernetes k8s
    postgres postgresql
    node node.js nodejs
    error err
    exception exc
    maximum max
    minimum min
    info information
    credential cred
    certificate cert
    indent indentation
    millisecond ms msec
    second sec
    kilobyte kb kib
    megabyte mb mib
    gigabyte gb gib
    backward backwards
    parameterize parameterise parametrize parametrise
    serialize serialise
    initialize initialise init
    normalize normalise
    color colour
    behavior behaviour
    license licence
    log logger
    lint linter
    format formatter
    large big huge
    all whole entire full complete
    keep stay remain retain preserve
    raise throw
    start begin launch
    stop halt
    store save persist
    show display
    short brief concise terse
    long lengthy verbose
    copy duplicate
    enable activate
    disable deactivate
    several multiple
    invent fabricate hallucinate
    small tiny
"""


_VOWELS = frozenset("aeiouy")
# Its singular is another thing.
_NOT_PLURAL = frozenset(("https",))


def stem(word: str) -> str:
    """A word without its English ending, in lower case. Light on purpose: too little splits a count, too much joins two.

    Plural, -ed, -ing (with the doubled consonant), -ion, -ment, -ly and the last -e go; -ate and -ation fall together.
    `migrations`, `migrated`, `migrate` -> `migr`; `committing` -> `commit`; `caches`, `cached` -> `cach`.
    """
    word = IRREGULAR.get(word, word)
    if len(word) < 4 or word in _NOT_PLURAL or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ically"):
        word = word[:-4]
    elif word.endswith("ily") and len(word) > 5:
        word = word[:-3] + "y"
    elif word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    verbal = False
    if word.endswith(("ing", "ed")):
        rest = word[:-3] if word.endswith("ing") else word[:-2]
        if len(rest) > 1 and rest[-1] != "e" and not _VOWELS.isdisjoint(rest):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lszaeiou"
            word, verbal = rest[:-1] if doubled else rest, not doubled
    if word.endswith("ment") and len(word) > 9:
        word = word[:-4]
    if word.endswith(("tion", "sion")) and len(word) > 6:
        word, verbal = word[:-3], True
    if word.endswith("e") and len(word) > 3:
        word, verbal = word[:-1], True
    if verbal and word.endswith("at") and len(word) > 5 and word[-3] not in _VOWELS:
        word = word[:-2]
    return word


SYNONYMS = {
    stem(word): stem(words[0]) for words in (line.split() for line in _SAME.strip().splitlines()) for word in words
}
SOFT = frozenset(SYNONYMS.get(stem(word), stem(word)) for word in _SOFT.split())
UNDOING = frozenset(SYNONYMS.get(stem(word), stem(word)) for word in _UNDOING.split())


_REMEMBERED = 20_000  # words, of at most so many letters: about 3 MB
_WORD_CHARS = 32
_concepts: dict[str, str] = {}  # many texts share the same words


def concept(word: str) -> str:
    """What stands for a folded word: its number, or its stem, or the stem of the first of its synonyms."""
    found = _concepts.get(word)
    if found is None:
        found = NUMBERS.get(word)
        if found is None:
            stemmed = stem(word)
            found = SYNONYMS.get(stemmed, stemmed)
        if len(word) <= _WORD_CHARS:
            if len(_concepts) >= _REMEMBERED:
                _concepts.clear()
            _concepts[word] = found
    return found
