"""Whether a value is a secret, the name of one, or a placeholder. Judges values only; other modules find their places.

Randomness is measured by how often the sort of character changes: in words every four or five letters, in generated secrets about every
second character. Shannon's entropy cannot tell `getUserAccessToken` from a key of that length.
"""

from clan_learnings.redaction.compiled_patterns import compiled

# Mean length of a run of one sort of character. Base 62 has 1.8, hex 2.1, base 36 2.5; identifiers have 4 and more.
_RUN_CHARS = 3.2
# Small letters and digits only change less often; names rarely have so many numbers in one word.
_NUMBERS = 3
_DISTINCT = 6
_PART = 10

_RUNS = r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_ALL_RUNS = r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+"
_SCRAMBLED_RUN_CHARS, _JUMBLED_RUN_CHARS = 1.9, 2.6
_HEX = r"(?i)(?:0x)?[0-9a-f]+"
# As secrets of one-time passwords are written. Words of so many letters have no digit in their middle.
_BASE32 = r"(?=[A-Z]*[2-7])[A-Z2-7]{16,64}={0,6}"
_UUID = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

# Filled in by something else later: variables, templates, calls of a secret store.
_REFERENCE = (
    r"(?i)(?:\$[a-z_]\w*(?:$|/)|\$[0-9@*#?]$|\$[{(\[]|\$env:|\{\{|\{[a-z_]\w*[}.:!\[]|\{\}|%[sdr(]|%[a-z_]\w*%$|#\{|@\{|<|\[|&lt;|"
    r"\.{2,}|\.[*+]|…|[*x•.#_-]+$|env[.:(]|os\.|process\.|secrets?[.:]|vault[:.]|ref\+|op://|![A-Za-z:]+(?:$|[ \[{])|@[\w./-]+$|\\[nrt\"']|arn:)"
)
# A call, an index, a path of attributes, as code has them.
_CODE = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:[(\[{<]|!\(|\?\.|$)"
_DOTTED = r"[A-Za-z_]\w*(?:(?:\.|::|->)\w+)+$"
_FILE = r"(?:~|\.{0,2})/|[A-Za-z]:\\|(?:[\w.-]{1,60}/){1,9}[\w.-]{1,60}\.[a-z]{1,5}$|[\w-]{1,80}\.(?:pem|key|json|ya?ml|txt|env|crt|py|ts|js|toml|md)$"
_TEMPLATE = r"\$?\{[^{}]{0,80}\}|\$\w{1,40}|%\(\w{1,40}\)s"

# Names of algorithms and encodings have digits, too. Which numbers they have is known, and so is what may follow them: `rs99yncX` is no `rs256`.
_NUMBER = r"(?:[1-9]|1[0-9]|32|36|45|58|6[24]|85|91|1[26]0|128|192|224|256|320|384|448|509|512|521|1024|2048|3072|4096|125[0-9]|8601|8859|25519)"
_AFTER_NUMBER = r"(?:[bcdksv]|id|[lb]e|url|mb[34]|crypt|check|sum|gcm|cbc|ctr|ecb|prng|with\w{2,8})?(?:[-_.:/](?:[0-9]{1,4}|[a-z]{1,8}[0-9]{0,3})){0,4}"
_ALGORITHM = (
    r"(?i)(?:(?:sha|md|base|utf|aes|rsa|hs|rs|es|ps|ed|x|blake|argon|pbkdf|oauth|http|ipv|bcrypt|scrypt|ascii|tls|win|"
    rf"latin|hmac|crc|ripemd|pkcs)[-_]?{_NUMBER}{_AFTER_NUMBER}|(?:iso|rfc)[-_]?[0-9]{{3,5}}{_AFTER_NUMBER}|"
    r"v[0-9]{1,3}(?:[._-]?[0-9]{1,4}){0,3}(?:[._-]?(?:alpha|beta|rc|preview|dev|pre|stable|latest)[0-9.]{0,4})?|s3|k8s|p(?:256|384|521)|(?:hmac|pbkdf2|ecdsa|aes|rsa|scram|sasl|chacha20)[-_][\w-]{1,16})$"
)
# Names of models have, too. Every part is one of a few words, a short number or a date: whatever else is in it, it is no such name.
_MODEL_DATE = r"(?:20[23]\d-?(?:0[1-9]|1[0-2])-?[0-3]\d|(?:0[1-9]|1[0-2])(?:-20[23]\d|[0-3]\d))"
_MODEL_PART = (
    r"(?:v?\d{1,2}(?:\.\d{1,2})?|4o|\d{1,3}[bk]|\d{1,2}x\d{1,2}b|00\d|preview|latest|turbo|mini|nano|micro|small|medium|large|pro|plus|max|ultra|"
    r"lite|fast|flash|exp|thinking|reasoning|reasoner|instruct|chat|base|hf|it|vision|audio|image|realtime|code|coder|codex|embedding|"
    r"opus|sonnet|haiku|ada|babbage|davinci|scout|maverick|oss)"
)
_MODEL = (
    r"(?i)(?:(?:us\.)?(?:anthropic|meta|mistral)\.)?"
    rf"(?:(?:(?:chat)?gpt|claude|gemini|gemma|(?:code)?llama|mi[sx]tral|codestral|qwen|deepseek|grok|phi|text-embedding)-{_MODEL_PART}|"
    r"(?:o|gpt|qwen|llama|gemma|phi|deepseek-[rv])\d(?:\.\d)?)(?=[-@:]|$)"
    rf"(?>(?:[-@](?:{_MODEL_DATE}|{_MODEL_PART})(?=[-@:]|$)){{0,8}})(?::\d)?$"
)
# Words with hyphens between them, as generators of passphrases make them; two or three are any adjective.
_PHRASE = r"[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){3,9}(?:-?[0-9]{1,6})?"
_PLACEHOLDER = (
    r"(?i)(?:your|my|the|some|any|new|old|insert|enter|change|replace|put|add|use|set|paste)[-_ ]?(?:own[-_ ])?\w*[-_ ]?"
    r"(?:password|passwd|secret|token|key|here|me|this|it|value|credentials?)(?:[-_]?(?:here|goes|value))*$|"
    r".*(?:placeholder|redacted|anonymous|dummy|changeme|change[-_]me|not[-_]?a[-_]?real|to[-_]?be[-_]?set|fill[-_]?me)"
)
_LISTED = """
    none null nil undefined true false yes no on off empty required optional invalid missing incorrect wrong
    hidden masked text input field string str bytes int number boolean bool object any type value default unset
    unknown expired valid todo tbd n/a na str? string? secretstr char varchar text? password passwd pass pwd
    secret token key apikey api_key api-key auth login user username example sample test bcrypt argon2 plaintext
    plain prompt ask stdin file env environment keyring keychain vault basic bearer digest inherit reset changed
    disabled enabled weak strong guest
"""
_WORDS = frozenset(_LISTED.split())
# Sentences under a name like password are messages: one of these is in nearly all of them.
_IN_SENTENCES = """
    must have been with from that this these those your their will would should could cannot please enter least most than then when where
    which while character characters letter letters number numbers digit digits field required match does into only also more less some
    password passwords username login user users account minimum maximum length long contain contains include used using need needs invalid
    incorrect wrong empty blank missing provided reset change changed update failed error value token secret here there after before between
    prompt prompts prompted asked again always never once every each unless until because about over like just still stored saved kept keep
    known none optional default file files keys agent manager vault none read reads entered typed taken comes works both same
"""
_SENTENCE_WORDS = frozenset(_IN_SENTENCES.split())
_NOT_KEYS = r"(?i)(?:sha\d{1,3}|md5|blake\w{1,3}|git|commit|rev|npm|pkg|urn|data|ssh)[-:]|AAAA[A-E]\w|[0-9-]+T[0-9:.]+Z?$|i?VBORw|R0lGOD|/9j/"


def is_stand_in(value: str) -> bool:
    """Whether the value only holds a secret's place: a variable, a template, `your-token-here`, `****`, `None`."""
    if value.lower() in _WORDS or compiled(_REFERENCE).match(value) or compiled(_PLACEHOLDER).match(value):
        return True
    if "{" not in value and "$" not in value:
        return False
    rest = compiled(_TEMPLATE).sub("", value)
    return len(rest) < 6 and not compiled(r"[A-Za-z0-9]\w*[!#^&*?~]|[!#^&*?~]\w*[A-Za-z0-9]").search(rest)


def is_uuid(value: str) -> bool:
    """Whether the value has the form of a UUID."""
    return compiled(_UUID).fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Whether the value is hexadecimal and nothing else: a hash, as a rule."""
    return compiled(_HEX).fullmatch(value) is not None


def is_random(value: str, least_chars: int = 16) -> bool:
    """Whether chance made the value, as far as one can see."""
    if len(value) < least_chars or compiled(_NOT_KEYS).match(value):
        return False
    if is_uuid(value):
        return True
    if is_hex(value) and not value.isdigit() and not value.isalpha():
        return len(set(value)) >= _DISTINCT
    if _is_scrambled(value):
        return True
    longest = max(compiled(r"[^A-Za-z0-9]+").split(value), key=len)
    if len(longest) < min(_PART, least_chars) or len(set(longest)) < _DISTINCT:
        return False
    if not _has_digit(value) and (len(longest) < 20 or longest.islower() or longest.isupper()):
        return False
    if longest.isdigit():
        return False
    runs = compiled(_RUNS).findall(longest)
    return len(longest) / len(runs) <= _RUN_CHARS or sum(run.isdigit() for run in runs) >= _NUMBERS


def _is_scrambled(value: str) -> bool:
    """Whether it is of letters, digits and signs without order, as generators of passwords make it."""
    if len(value) < 20 or compiled(r"%|[a-zA-Z0-9]-[zZ9]").search(value) or not is_mixed(value):
        return False
    signs = compiled(r"[^\w\s./-]").findall(value)
    return len(set(signs)) >= 4 and len(value) / len(compiled(_ALL_RUNS).findall(value)) <= _SCRAMBLED_RUN_CHARS


def _is_jumbled(value: str) -> bool:
    """Whether what has the form of a path of attributes changes too often between sorts of characters to be one."""
    runs = compiled(_RUNS).findall(value)
    return "(" not in value and is_mixed(value) and sum(map(len, runs)) / len(runs) <= _JUMBLED_RUN_CHARS


def is_mixed(value: str) -> bool:
    """Whether it has small letters, capitals and digits, which hashes and our ids do not."""
    return value.lower() != value and value.upper() != value and _has_digit(value)


def _has_digit(value: str) -> bool:
    return compiled("[0-9]").search(value) is not None


def is_secret(value: str, *, is_literal: bool) -> bool:
    """Whether the value of something called secret, token or API key is one."""
    if len(value) < 8 or ((value.islower() or value.isupper()) and not _has_digit(value)):
        return False  # most values: a word
    if is_stand_in(value) or "://" in value or compiled(_FILE).match(value) or _is_name(value):
        return False
    if not is_literal and compiled(_CODE).match(value) and not is_random(value):
        return False
    if compiled(_DOTTED).match(value) and not is_random(value, 20):
        return False
    if is_random(value) or compiled(_BASE32).fullmatch(value):
        return True
    # Short ones that people make up: s3cr3t-K3y.
    return is_literal and len(value) >= 8 and len(compiled(r"[0-9]+|[^0-9]+").findall(value)) >= 4


def _is_name(value: str) -> bool:
    """Whether it is the name of an algorithm or a model. Not asked of passwords: people choose such names."""
    return compiled(_ALGORITHM).match(value) is not None or compiled(_MODEL).match(value) is not None


def is_made_up(value: str, *, is_literal: bool, is_setting: bool) -> bool:
    """Whether the value of what plainly names a secret is one, though chance does not show: numbers in it, or of a shell's variable any word."""
    if len(value) < 8 or is_stand_in(value) or compiled(_NOT_KEYS).match(value) or "://" in value:
        return False
    if compiled(_FILE).match(value) or _is_name(value) or compiled(_DOTTED).match(value):
        return False
    if not is_literal and (compiled(r"[(\[{<]").search(value) or is_hex(value)):
        return False  # code; a short hash
    if not compiled(r"[A-Za-z]").search(value) or compiled(r"(?i)your[-_]|x{4}|\*{3}").search(value):
        return False
    if len(compiled("[0-9]").findall(value)) >= 4:
        return "/" not in value or "+" in value
    if is_literal and compiled(r"[A-Za-z0-9/]*\+[A-Za-z0-9+/]*={0,2}").fullmatch(value):
        return True
    return is_setting and not compiled(
        r"(?i).*(?:secret|token|key|pass|cred|/|\.|example|name|produc|staging|develop|requir|missing)"
    ).match(value)


def is_strong(value: str) -> bool:
    """Whether a word in a sentence can only be a password: a letter, a digit, and a sign or letters of both sizes."""
    if len(value) < 8 or not is_password(value, is_literal=False) or compiled(r"[(){}<>\[\]/\\:=|]").search(value):
        return False
    if compiled(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,}-[0-9]{2,6}").fullmatch(value):
        return True
    return _has_digit(value) and (is_mixed(value) or compiled(r"[!@#$%^&*+?~]").search(value) is not None)


def is_phrase(value: str) -> bool:
    """Whether it is four words or more that no sentence has: `correct horse battery staple`."""
    words = value.split(" ")
    return 4 <= len(words) <= 8 and all(
        4 <= len(word) <= 10 and word.isascii() and word.islower() and word.isalpha() and word not in _SENTENCE_WORDS
        for word in words
    )


def is_hex_key(value: str) -> bool:
    """Whether it is ten hexadecimal digits or more with letters among them: a key, where somebody says that it is one."""
    return len(value) >= 10 and is_hex(value) and not value.isdigit() and not value.isalpha()


def is_bare_pass(value: str, *, is_quoted: bool, is_given: bool) -> bool:
    """Whether what stands after `pass:` or `pass=` is a password: tests pass, too, and so do steps and versions.

    `is_given`: after a `=` without blanks.
    """
    if len(value) < 6 or not _has_digit(value) or value.isdigit() or not is_password(value, is_literal=False):
        return False
    if compiled(r"[\[\](){}<>|/\\]|::").search(value):
        return False
    has_sign = compiled(r"[!$^&*?~]" if not is_mixed(value) else r"[!$^&*?~@#%+=]").search(value) is not None
    return has_sign or is_quoted or (is_given and len(value) >= 8 and is_mixed(value))


def is_one_time(value: str) -> bool:
    """Whether it has the form of a secret that one-time passwords are made from."""
    return compiled(_BASE32).fullmatch(value) is not None


def is_password(value: str, *, is_literal: bool) -> bool:
    """Whether the value of something called password is one. People choose words, so chance is no measure here."""
    bare = value.rstrip(".,;:!?)]}")
    if len(bare) < 4 or is_stand_in(bare) or compiled(_ALGORITHM).match(bare):
        return False
    named = compiled(r"(?i)pass(?:word|wd|phrase)").search(bare)
    if named and compiled(r"[A-Za-z_.:-]+").fullmatch(bare):
        return False  # new-password, user.password: what it is called, not what it is
    if is_literal:
        return not compiled(_FILE).match(bare)
    if compiled(_CODE).match(bare) and not compiled(r"\w*[0-9]\w*$").match(bare) and not _is_jumbled(bare):
        return False
    if (compiled(_DOTTED).match(bare) and not _is_jumbled(bare)) or compiled(_FILE).match(bare) or "://" in bare:
        return False
    if compiled(_PHRASE).fullmatch(bare):
        return True
    if bare.isdigit():
        return len(bare) >= 6
    if len(bare) < 6 or not compiled(r"[^\W\d_]").search(bare):
        return False
    return bare.endswith("=") or compiled(r"[\d!@#$%^&*+?~|]").search(bare) is not None
