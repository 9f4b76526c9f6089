"""An upper bound on the number of tokens of a text, and the table of frequent words and rare pairs of letters it counts by.

There is no tokenizer here: every model has another, and a hook has no time for one. The table is measured (ADR 0032). ASCII letters
count by words: a frequent word is one token; any other is half a token a letter, plus one wherever two letters stand together that
seldom do. Every other ASCII character is a token, except the blank before a letter. Everything else counts by its bytes, the most that
a byte-level vocabulary can make of it, or by the bytes of its compatibility form, since some tokenizers use that. The bound is never
below a quarter of the bytes, which is how Codex counts.

Additive over lines that end in a line end, up to rounding to the safe side; more words never give fewer tokens.
"""

from __future__ import annotations

from unicodedata import normalize

# One token each, in small letters and with a capital, behind a blank and without, in every vocabulary measured; behind
# punctuation or another word at most one more. Most frequent first.
WORDS = """
the in of and for to with is that as by are or be from an more on can not use this it all at example will if
you see any file have version which other only using used name no code but may has one information so when its
should list also do your without set new was same must default files does source into available value each
such command their run make where than support option then specific they either package type above install
details include time under about names work these both create before like test first instead true add text
some changes project data found need http import up there would get object part through module how output
after number error current non user out library even function case two build required different path directory
full values false copy those string written given way own order added options line result read license being
later what multiple return contains most write change via now well supported single target check below format
form based process running configuration made possible environment key description between end argument still
section while within system types over free optional created always node just we allow request additional
every variable call complete python because software start works us arguments binary message standard pass re
input another tests unless built called custom status property main release method cannot conditions whether
link errors content implementation class named already program common existing returns find except instance
here extra public mode terms next cases issue setting along note update long parameter don original event
context since could contents open per usage special exception functions many root server flag access objects
help take back results last apply remove script cause local control document published once empty times never
working reference done match print valid field try properties config top id known changed state place users
tools subject memory global performance until tool individual variables branch console currently lists keep
present second point strings language modules else image our level missing null follow enable application
person operations page platform configure title creating writing date pre others merge range generate fix
expected projects modified invalid related security search right query keys third examples inside warning
simple internal location policy nor who handle my header tree client adding group cache reason operation
domain something fields interface please json due outside size previous old very rules array yet replace
display bytes too runtime report making body parameters around future sets metadata again charge repository
git entry address bug updated accept folder fail shared settings failure response much met show let scope
three best flags const host know look connection manual left url style better building log links character
large events pattern effect private general lines tag give encoding direct statement relative stop foo table
base integer small tags index messages core less parent export boolean references external step express
regular choose limit actual stream expression define items side registry account port label web sent
components extension high normal minimum machine ref steps though alt testing put async send validation model
length close kind resources correct action assert having native fixed load starting good active definition def
cross raw parse pull linked team products component notes static block service self identifier session child
throw consider reading loop resource clean had shell master processing exit major info none store real failed
auto attributes verify world absolute count init bar multi final bound classes zero rule off logic actions
short refer attribute lower comments whatever why down plain commit share skip did production go disk stack
owner thread parts ve initial origin str spec html comment debug execute hash primary unknown download ask
view product grant creation pages space problem delete wrong item post token condition schema entity law patch
management clear fast people points buffer home elements basic doc equal map database wait move args force
sign dev int collection history sub groups rest engine choice total pr suite handler safe mark members turn
say words hello validate cluster hard remote dict low app days come unique byte template email filter material
drop switch graph party break push begin sort ever window contact offer medium connect loading chain exec
fetch hook transfer record amount legal member socket var records proxy selected save questions lib convert
ready hold storage lead task double media peer clone completed thus reset hand de review width forward upon
manage edit bad computer leave pure tasks plus sync destination human framework live lost net password meta
element position max far submit select sequence random slow trace cd manager word risk operator agent split sh
unit flat holder mean color identity early parallel utility compare power minutes fact care virtual bit feed
expect auth progress join speed center really pair day mesh head cost year util channel website complex fit
official track worker queue dir bin frame me term percent profile goal io fine secret regex signal direction
detail four background cover duration flow man plugin site negative pool res helper construct tuple going
priority answer register act among job learn diff yes solution family fall opt ms offset dist binding bool
lock dot controls archive modern week sample brand collect device success category region almost chat quality
online writer constants apps selection symbol container sys plan min period big question trade provider tr
round vector constant layout cat soon cut credit views although images reader depth pin union tab critical
edge rich analysis bind states relation clock course batch layer got little lambda deep counter admin skill
login sometimes compute think float assign five mock upper black phase lot role fill row tail past quick
activity param delay pack categories blog stage jobs arg positive upload great dead relationship years insert
height six cloud processor pay transport stand reverse repeat pipe race py focus feedback cycle strong box
shape iterator en destroy colors editor redirect pick room customer column mind remember transform volume
hours timer func listen tar click wire company middle thanks exchange win hour book confirm letter measure hex
op life he picture models quote hidden enum abstract month et health series refresh org zone seed anonymous
today br green construction route weight cert font button strip char his sum len ok div demo screen menu white
alpha touch segment watch interest transaction builder am factor half visit front sleep enter decimal val play
es ten nice rate hit score drive embed mod resp accounts blank db light age fair factory scale card arch
figure near seq ed annotation frequency logger calculate late children bottom area columns com interval zip
proof land std hide math price num paper average payment render registration scan digital creator reply tap
assembly love perhaps talk blue hot article em soft units serial ship news surface matrix learning dark wall
fish tip sec ground miss mask al linear mail temp attack sound cancel un doctor widget ts ratio rev national
she elect social chart cards fund struct bot del dialog micro arrow video transition super piece journal
navigation inner stats ap art theme orders stat ext square icon slot tour recipe dataset redis anchor walk
cast mid eu controller face lie ac mount posts chapter alignment mini led co dashboard dest audio office
secondary uniform gate music router press phi shift eq fun grade sep yellow water story friends draw alert ex
gen sing balance hi prop cap division cool sup horizontal vertical city conn fire cell gender ad her training
rotation former bridge pop odd hub
"""

# Two letters that are no token in one of the vocabularies: the first, then all those it cannot stand before.
SPLIT = (
    "aq bdfhjkmnqvwz cgjkqwz dgjknq eoz fghjkqvwz gbcdfjknqsvwxz hbcdfghjknqwxz iquwy "
    "jbcdfghijklmnpqrtvwxyz kcdfkpqrtxz lcfhjkmqrvwxz mfhjqwz nfjkqvwz oaeijoqy pjnqvwz "
    "qabcdefghjklmnopqrstvwxyz rjklnpqvwz sjx tgjnqz uaefjkoquwxyz vbcdfghjknpqtvwxz wbcdfgjklmnquvwz "
    "xabcdfghjklmnopqrtuvwz ybcdfghijklmpqtuvwxz zbcdfgjklmnpqrstvxyz"
)

# As WORDS, two tokens each at most.
LONGER = """
following documentation specified provided including them been versions uses included modify otherwise
provides includes want defined require provide itself allows directly associated passed behavior generated
against systems means specify were dependencies copies during longer distribution installed supports notice
commands prior contain enabled copyright distributed requires removed makes permission requests bash avoid
features issues publish received containing distribute latest packages dependency methods rather granted needs
rights calls might purpose feature needed particular appear least hereby takes returned installation whole
development explicit permitted compatibility whose runs allowed exist creates shall limitation deprecated
forms characters similar derived ensure things libraries addition modification across configured parsing
intended nothing docs entire syntax several applies headers recommended contributors scripts paths prefix
contained ignored sure sources maximum sell resulting doesn promote disable prevent checks certain perform
portions defaults applications calling retain equivalent restriction matching exists directories whom
generator handling passing follows listed accepts ignore entries anything permit updates considered various
functionality protocol deal relevant started correctly disclaimer licensed resolve compatible fails actually
replaced compiled hope able gives specifying matches coverage describe keyword executable persons further
reserved requirements depends network consistent previously permissions instances structure execution older
exact specifies ways simply override processes materials setup together treated everything immediately
signature limited specification marked targets exactly workflow pytest authors applied numbers disabled
applicable compiler starts releases compile parser strict attempt reports fully requested usually shows gets
callback released remain endorse regardless builds respect meaning exceptions comes taken alternative
installing stored bugs executed preferred supporting accepted modifications produce checking adds notices
platforms enables documented undefined expressions fixes tell indicate await receive cmake higher legacy
resolved obtain earlier parsed ones continue improve affect typically writes nested readable omitted changing
debugging manually easy alias often timeout determine important according raise imported stable generally
alone printed nodes limitations preserved implement experimental terminal instructions catch reads doing
reduce detect implemented designed checked depending extensions generation detailed covered certificate
filename recent upgrade architecture sale warnings newer recommend representation invoked kept underlying
enough faster performed handled managed attached combination assume seconds constructor exported terminate
wish installs href signed problems prepare compilation typing optionally tracker repo statements represents
authorization places goes loaded broken align trailing thrown claims connections authentication causes depend
normally shown allowing closed patterns generating resolution handles algorithm leading emit stdout tested
approach fork removes followed minor downloaded silently anyone commercial reasons grants conflict append
neither looks converted logo identify moved says greater supplied specifically wrapper logging located
packaging ends restrictions formats community automatic stated identified remaining caused interfaces
represent reported placed detected responses larger especially defines programs understand getting hooks
manner controlled probably twice streams stderr registered retrieve entities reasonable workspace freely
worldwide held detection stay contributions design expose pending mapping rejected formatting duplicate
integration produces carry crash occur knowledge deps namespace excluding fallback readme binaries desired
verification welcome filtering therefore copied requirement independent organization blocks developed
definitions proper behind wrote comparison escape prints asynchronous extent promise versionadded keywords
ability workspaces prefer browser aware generators ranges whenever thing spaces difference defining logs
signatures folders bundle occurs basis linking significant exports patches advanced failures away encoded
languages servers sending chosen authorized replacement emitted processed passes exclude suffix tracking
finished reflect thereof rely configurations extended determined beginning cleanup offers discussion breaking
stays effects threads communication differ matter generates omit embedded clearly numeric resolves behaviour
copying displays interpreter symlink implements indicated payload submitted reuse comma agree alongside
publicly clients lint locally codes deleted displayed regarding chunk enforce receiving policies someone
crypto markdown visible produced capture macro completely removal updating annotations exits mailing unused
throws counts subset imports literal compiling downloads minimal trying looking hints caching possibly
documents holds modifying covers matched referenced respective herein limits assigned mostly affected tables
inspect locations maintenance arrays cached dictionary suitable identical practice treat sections publicity
patent effective behalf symbols retained quotes addresses certificates connected waiting extend dependent
constraints variant originally contexts lets prompt invoke tells favor listing leaves potential seen sense
portion attach ownership returning structured levels meant aliases reporting yourself badge sorted paragraph
trust lookup beyond protection exercise generic bodies termination exposed refers variants incorrect outputs
interactive scheme successfully lifecycle knows bucket milliseconds decision unlimited decide wrap sentence
synchronous linker declared accessible idea overrides invocation regression failing excluded stores bits
caller secure initialize operate unchanged removing refused bindings installer typo backward decoding opened
opening reach closing tokens extract marks everyone terminated technical preserve builtin uninstall renamed
concurrent carries computed wrapped inputs requiring semantic compared stops exclusive finds outstanding
accessed agents semver naming ensures trigger retry expressed asked initialized learned contribute diagnostic
sharing sockets guidelines stdin completion separated conventions impact sensitive combined finding queries
offered saved overwrite assumed prototype usual successful backwards pipeline initialization debugger
capabilities sufficient provision encode interpret potentially translation identifying asks appended
unexpected importing reject compression customize formatted startup additions selecting decode backend wants
shares leak came username streaming differs callbacks partial typical convention deemed hosts migration pairs
alter provisions reasonably nodejs malformed remains temporary modes echo toolchain handlers feel codecov
incomplete helps algorithms accepting contributor endpoint costs ruff combine acceptance laws inclusion subnet
strategy audit ordinary finish restrict enabling void unsupported typed grammar commits acts meet powerful
asking taking marker slower nobody engines lack schemas consume nature parties strongly scopes listener
altered abort contributed ambiguous presence zlib helpful accessing structures versioning serialization
standards behave threshold isolated increase credentials labels attribution utilities conversion personal
notify evaluate variety newest rename issued extends waits relations configurable unmodified inline
constructed performing interact tries sessions checkout prefixes wiki elsewhere aren backport wheel repair
benchmark usable positional distinct restore loads smaller hostname scoped said serve peers bring inspector
blocking verified replacing invoking identifiers experience searching launch discovery explain timeouts signs
decoded comply yield availability configuring effectively erase tried notation iteration evaluation domains
expressly electronic prominent restart refactor sends gained applying suppress implicit brings downstream
descriptor unset emits wrapping rare ending epoch curl lives stuff imply grep standalone opens idle breaks
disclosure dealing letters restored replaces symbolic individuals trusted specifier finally serves sole
disables commonly timers feeds contribution ignoring relies fixing pointer newly writable conditional ours
turns quite worth logged converts timezone snapshot kwargs overhead efficient absence anywhere prepared
compressed authorship restricted moving ping observations warn didn transitive somewhere preference robust
referral bounded rewrite raises throughout frames encryption consult workers callable subclass ahead reached
pieces operators expanded kinds escaped repl params saving overview stating wide readline logical belongs
identification concept digest expired acting promises misc optimized installers develop primarily pretty
archives showing guard candidate converting persistent quickly codebase grows signing timestamp deployment
expects funding keeping designated prefixed timing attacks blocked addons intent outdated closes localhost
macros expand glob believe assumes brief subdirectory wherever overwritten ordered highest readability
coveralls maps compact couple templates continues resume trees routes registers recipient referred filed bare
reaches routing fifty told revoked queued interested goals validity declaration normalized eval actively
printing separator newline workflows hashes revision consists enterprise notable overall pyproject confidence
giving dates alternatives guidance calculated reused timed span boundary explanation assertion recursive
intact owned brought counterclaim severity honored hardware databases slash losses throwing stands lowercase
explaining relationships perf coding hint bounds plugins infinite filesystem optimization wanted quoted
descriptive joins indexes deliver measures moment incoming segments garbage kernel rows overflow facts agrees
buffers endpoints prod runner directive downloading allocation entitled reproduction merely institute apart
flaky listening cherry ctest complexity filters unsafe newlines contrast shims hosted bump submitting
undocumented discovered destroyed accuracy loops shipped capability statistics matters datetime immutable
anyway shouldn traces patched digits foreground busy popular ordering optimize explains stdio impossible sees
honor shipping discover edits normalize subcommands specifications dual verbose backup circular fold months
thousands initially similarly gzip reviewed depended ended respond managers leaving inclusive channels tagged
fresh membership universal transformed collections packaged loader violation suggest descriptions unavailable
assuming plainly goodwill relating ings opts endif lacks mapped observation roots beside leaks combining
parsers intermediate spawn locate fragment activate colon tracing forces latter persist shutdown identifies
interacting teams uploads catching minute whereas revised chance blob timestamps unsigned subclasses
validating inverse executes collected everywhere conversions owners essential launched validated integrated
populated editing secrets traffic worked supply approval belong foregoing unlike tium draft decoder extracted
comparing undici configs packed indexed fits wins typos sidecar manifest deny targeting padding greatest vary
installations virtualenv adjust ports docstrings requesting serialized research accurate scheduled detector
inserted addressed frozen docstring mixed permits exceed concurrently guess mappings pipes lies extraction
gone silent iterate listeners authority metrics pushed misrepresented revisions transformation privacy
reformed reserves translated grow revoke aborted acceptable refuses mention postinstall counted styles chains
signals certs derive recover mutable lifetime managing constructing mirror adapt topics stdlib multipart
referencing inject obvious normalization encourage lazy magic dump namespaces highly recording locale
immediate scientific answers joined formerly helpers physically limiting physical placeholder shallow ships
markers performs concrete essentially simulate correspond refuse encrypted granting protected collecting
sentences kill heap reusable dgram nearest stale prefers took preinstall stamp subcommand correctness tuples
issuecomment fetching bootstrap understanding conda submodules clause ideal serialize turned preserving
coordinate filled lowest claimed crashing idna equality amzn numpy fixtures libc latency linter captured
grouping aims deletion referring producing pointing translate existence impose organizations interaction
protect patents publication difficult leaking disabling partially iterating populate iterable credits unable
retries quoting subnets malicious expiration missed approve moves consent schemes heading whoever flush
accordingly fatal connecting dispatch absent buildsystem prose artifact checker digit positions docker
workaround technically venv codec subscription noted discord pooling rendered thought caution inability
constraint deeper encounter validates demand pulls defend uploaded pathlib collective skills alive understood
technique constructs scenario backends historical assertions inform receipt separable exclusion intention
devices consumer million decided providers notebook flexibility sizes composition vice clipped composed
placement associate addon oldest enclosed revocation cipher vendor forth ensuring enforced mutual argv
backslash tick pinned handshake evidence bench offline anew clan intend forbid countries nightly transparent
wouldn shortcut operates prepend switching silence customization activated preserves functional travis safety
zstd socks observed covering ease noticed friendly resolver encrypt pycon extras isinstance largest continued
wasn upcoming notifications capacity deploy toolkit targeted overwriting cursor storing validator forwarded
caught transforms grouped imposed denied offering inspection pause selects alternate absolutely configures
explained authorize fleet titles verifying disconnected disconnect encoder minimize asserted amended gain
dated considerations certified tooling haven drops literals finishes suppressed periodically schedule
confusion buffered pings verifies mime declare portable pushes landing bracket versionchanged drift sold
visibility appending formed profiles inference controlling repr compiles inferred shells joining sudo manages
distutils directed urllib argparse samples utils tiny maybe capable lose symmetric customized falls sorting
natively committed proposal middleware insertion advance correction fairly credential forced went unlikely
skips submission hereafter practical texts paused preprocessor hatch bold concern discard resulted locks
proceed substring exporting scaling throughput forwarding predefined editorial customary translations cores
compares outlined equals collisions commas onboarding valign counters aside admins unstable toml presented
viewed injected specs highlight expansion snippet cloned whichever hood dispatcher deletes safer forget
modifies handy consideration specialized querying professional trip outcome calculation traceback fixture
builtins announced monitor specifiers meets redirected forever traditional accidental accident directives
proposed disclaim propagation country durable broader nearly assignment broad breach corruption editable
clarity assigns saves daily principal withdraw addendum verbal reputation successors vectors phrase counting
exited constructors killed casing lengths compress landed toolset hoisted breakage pointers exiting preparing
tips setups hanging solutions planned tabs transmission flexible organized meth fashion regularly multiline
seems assets propose networking websocket trio instruction decrypt digests indices infer holding injection
timely analyze traverse programmatic entered perfect commitment concepts repos predictable outer careful court
directions saying reviewing qualifier addressing smart weeks measurement metric invite attr primitive adapter
specifics uploading locked preview pagination excludes preset batches procedure drain upgrades selector
publisher surprising onto attacker laptop ought informed hereunder classified extracting govern contacted
revise despite heard marking corepack delivered hits allocated receiver assigning chained outgoing served
insecure disallow choices edited unify hang genex admit yours anyio damaged clocks assistant porting tier
indexing considering mutate iterators considers pyenv picks afterwards editors dash mainly endings variations
eventually forwards stub confusing hence compound backports undo conform attention wishes surrogate huge
humans delays submodule efficiency edges monitoring concurrency computation zoneinfo dumps precision awesome
median percentage unified pollution parentheses relate tilde suites expectation flagged optimal replication
meanwhile labeled qualify operated transferred convey deferred spelling shortest carefully spread darwin
profiler redirection expensive varies volumes denial stages chaining passwords switched performer hereof logos
assist portability seek literary artistic expense alike delivery relatively complement spent continuous
aborting weak loaders typeof hybrid hostnames lands cycles napi compose hosting meeting contacts staging verb
archs foreach markup hoisting hoist admitted arrival communities programmer fonts closure promoted lightweight
majority worry manpage advice illegal putting looked customizing notably successor deadlock subprocess encodes
furo definitely counterparts speedup candidates challenge somewhat forum draws usability lots narrow
identifiable randomly indent colorama parity notification powers ticket arithmetic spans familiar measurements
yields serving placeholders cookies origins science sake invalidate footprint pickle serializer threading
slots normalizes fake interesting discretion guides confused adjusted vocabulary purchase phases salt cold
invokes bigint connects expires passphrase scanning skeleton asserting combines prove suit fees musical
continuing utilizing illustration typographical discussions transmit wording puts versa loses caches notified
subsystem seem rejection pathname elapsed approaches excellent falling stringify preload restores detached
tracks separation offsets leads instanceof existed increment react reload promotion fixup rebase headings
cares needing switches relax dots walks rendering granular presets stamps queryable phantom speaks proves
claude rounded drawn touched swap cargo scoping enums bitwise embedding wasm conforms areas diffs prebuilt
brew bugfix patching dirs misleading truth printf warm placing distro stubs unittest dotted consisting
backported clicking supplies pseudo losing rooms transparency forcing nose codecs foreign aligned expectations
assumption violate tracebacks django worst serializing companies extensive basically registering hear
exercises substitution longest increasing terminals chars classic helping declaring tracked textual unaware
technological consequence codebuild thin eight badges unpack worse globs tweak sits extracts gaps reversed
utilize quiet findings mailto dumb renders clearing increased mutually roles transcript gateway archived
backups pools curve paid destinations insights stolen geography piped judged insight judgment seeking omission
restricts counterpart distinguished namely sketch appends charts contrib amounts dial somebody ccache sides
unrelated validations loopback getter letting allocate cleaned unref listens besides lexical queues posting
pong conforming keypress unusual sibling closest expands straight nowhere automation smallest dies simulator
decides maxdepth lockfiles denials transports honest hostile timeframe carrying hides readers proofs crate
disallowed study forbidden guards modifiers musl wider formula intercept shim launcher collision persisted
paired delayed carriage carried trackers sdist probe factors originating obviously exceptiongroup vars maxsize
ipython couldn recipes derivation dateutil pandas baseline indented quickstart growth pulling authenticated
banner sampling myfile extending regexes matcher layers emulate happy abide monthly reflected naive isolation
activities aggregate licensee selling arise spirit mocked glue cloudwatch expenses signer unions fault
iterations indication broke graphs informative statically scalar regions parseable gather boundaries producer
excess exposing standardized titled integrate tunnel filtered threat microseconds yesterday budget deadline
cutoff death contributes lawyer versioned sorts voting slice fixation sounds violated actors sought drawing
wishing originates confirmed freeze emails hyphen certdata reasoning wasi backtrace triagers identically
consist scheduling allowable collector buffering packet enumerable purely interactions mutated embedder
processors canceled pinning defaulting specially authenticate planning collide coming unclear motivation
announce waited turning stopping reorder onward honors formal
"""


LEAST_CHARS = 4  # a token: Codex divides the bytes by this, so the bound is never below
_KNOWN = dict.fromkeys(LONGER.split(), 2) | dict.fromkeys(WORDS.split(), 1)
_RARE = frozenset(row[0] + second for row in SPLIT.split() for second in row[1:])
_SMALL = "abcdefghijklmnopqrstuvwxyz"
# Everything but letters parts words, and a capital begins a new one: `readFile` is `read file`, `HTTP` is `H T T P`.
_WORDS_APART = dict.fromkeys(range(128), " ") | {ord(a): a for a in _SMALL} | {ord(a.upper()): " " + a for a in _SMALL}
_LETTERS_ALIKE = dict.fromkeys(map(ord, _SMALL + _SMALL.upper()), "a")
_FREE = "\0"  # stands for what was counted already; can be in no text that was made harmless


def at_most_tokens(text: str) -> int:
    """At least the number of tokens that a model makes of this text."""
    tokens, weight = 0, len(text)
    if not text.isascii():
        text, tokens, weight = _counted(text)
    for word in text.translate(_WORDS_APART).split():
        tokens += _KNOWN.get(word) or _unknown(word)
    # What is no letter and no blank before a letter; a quotation mark may take a letter from a word and so split it.
    shape = text.translate(_LETTERS_ALIKE)
    tokens += len(shape) - shape.count("a") - shape.count(" a") - shape.count(_FREE) + shape.count("'aa")
    return max(tokens, -(-weight // LEAST_CHARS))


def _unknown(word: str) -> int:
    """Half a token a letter, half a token more for a rare pair; one at the beginning; never more than letters."""
    letters = len(word)
    if letters < 2:
        return letters
    rare = sum(map(_RARE.__contains__, map(str.__add__, word, word[1:])))
    return min((letters + rare + 2) // 2, letters)


def _counted(text: str) -> tuple[str, int, int]:
    """The ASCII part of a text, with something that costs nothing in place of the rest; the rest's cost; all bytes."""
    tokens, weight = 0, len(text)
    free = {}
    for char in set(text):
        if char > "\x7f":
            count = text.count(char)
            own = len(char.encode("utf-8", "surrogatepass"))
            weight += count * (own - 1)
            tokens += count * max(own, len(normalize("NFKC", char).encode("utf-8", "surrogatepass")))
            free[ord(char)] = _FREE
    return text.translate(free), tokens, weight
