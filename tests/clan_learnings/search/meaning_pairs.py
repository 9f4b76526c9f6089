"""More pairs, for likeness by meaning: the same thing in words that hardly overlap, and near things in plain words.

Data alone, as in `matching_pairs`. Written in one go before anything was measured; every second pair is held out.
"""

from tests.clan_learnings.records.matching_pairs import Pair, read_pairs

_MEANT: list[Pair] = read_pairs("""
swallowed the failure silently => let errors surface to the caller
an exception was ignored without a word => do not hide errors, propagate them

logged in to the machine with a password => use keys for remote access
authenticated over SSH by typing a password => key based login only

left the laptop's clock zone in the report => show every moment in UTC
reports had local times => timestamps are displayed in universal time

answered before looking at the source => read the implementation before you explain it
explained the code from memory => open the file first and then describe it

the page froze while the list was drawn => only render the rows that can be seen
rendering the long table blocked the browser => virtualise big lists

picked a version that nobody had tried => take the release that staging runs
chose the newest image => deploy what was verified on staging

wrote the password into the source => credentials come from the secret store
a credential was hardcoded => fetch secrets from the vault at start

asked the user for every small step => go on without confirmation when nothing is destructive
kept interrupting for approval => harmless work needs no permission

the whole table was loaded to count it => let the database count
fetched all rows only to take their number => run a COUNT query

made up a command line option => look at the help before using a flag
invented a switch that does not exist => verify flags with --help

tests depended on the order they ran in => every test sets up its own state
one test needed what another left behind => tests must be independent of each other

translated the strings by hand => new texts are translated by the localisation service
put German wording into the file => leave translations to the localisation service

called the third-party service in unit tests => stub out the network in unit tests
unit tests talked to the real vendor API => no real HTTP in unit tests

the change had no description => tell why in the body of the commit
commit message was a single word => explain the reason in the commit body

looked for the logs on the server => logs are collected centrally, search them there
opened a shell on the host to read log files => use the central log search

copied the same block three times => extract a shared helper
duplicated logic across handlers => put common behaviour into one function

queries became slow on the big customer => add an index for the lookup column
lookup by email scanned the full table => index the column that is searched

restarted the service to clear the cache => evict the key that is stale
flushed everything because of one outdated entry => invalidate only the affected entry

the worker died when memory ran out => stream the file in chunks
read a huge file at once and was killed => process it piece by piece

opened a connection for each request => share one pool of connections
every call connected anew => reuse pooled connections

sent mails to real customers from the test system => outgoing mail is disabled outside production
staging wrote to actual users => never deliver e-mail from non-production systems

left a finished feature flag behind => remove flags once the rollout is complete
old toggles pile up => delete a toggle when its feature is fully released

guessed what the numbers mean => ask the domain expert about units
assumed the measurements were in metres => check the unit with whoever owns the data

the script stopped half way and left garbage => clean up in a finally block
temporary files stayed after a crash => make sure cleanup runs on failure too

prices were compared as floats => represent money as integers of cents
used floating point for amounts => store amounts in minor units

changed behaviour and formatting in one commit => keep refactoring apart from functional changes
mixed cosmetic edits with a fix => cosmetic changes go into their own commit

user input went straight into the shell => never build commands from untrusted text
ran a command with unchecked parameters => escape or avoid user data in command lines

waited a fixed time for the server => poll until it is ready
slept before the first request => wait for the health check to pass

the button could be pressed twice => disable it while the request runs
double clicks submitted the form two times => block resubmission until the answer is there

kept going after the build was red => stop and repair a broken build first
added features on top of a failing pipeline => fix the pipeline before anything else
""")

_NEAR: list[Pair] = read_pairs("""
swallowed the failure silently => let errors surface to the caller
swallowed the failure silently => retry before giving up

logged in to the machine with a password => use keys for remote access
logged in to the machine with a password => rotate the password every quarter

left the laptop's clock zone in the report => show every moment in UTC
left the laptop's clock zone in the report => show moments in the customer's zone

answered before looking at the source => read the implementation before you explain it
answered before looking at the source => ask who wrote it before you change it

the page froze while the list was drawn => only render the rows that can be seen
the page froze while the list was drawn => load the list from the cache

picked a version that nobody had tried => take the release that staging runs
picked a version that nobody had tried => take the latest stable release

wrote the password into the source => credentials come from the secret store
wrote the password into the log => redact credentials in log lines

asked the user for every small step => go on without confirmation when nothing is destructive
deleted data without asking => ask for confirmation when something is destructive

the whole table was loaded to count it => let the database count
the whole table was loaded to sort it => let the database sort

made up a command line option => look at the help before using a flag
made up a module name => look at the registry before installing a package

tests depended on the order they ran in => every test sets up its own state
tests took an hour to run => tests run in parallel

translated the strings by hand => new texts are translated by the localisation service
translated the strings by hand => ask a native speaker to review translations

called the third-party service in unit tests => stub out the network in unit tests
called the third-party service in a loop => batch calls to the service

the change had no description => tell why in the body of the commit
the change had no tests => add a test with every change

looked for the logs on the server => logs are collected centrally, search them there
looked for the metrics on the server => metrics are collected centrally, search them there

copied the same block three times => extract a shared helper
extracted a helper that is used once => inline it again

queries became slow on the big customer => add an index for the lookup column
writes became slow on the big customer => drop unused indexes

restarted the service to clear the cache => evict the key that is stale
restarted the service to load the config => send it a reload signal

the worker died when memory ran out => stream the file in chunks
the worker died when the disk was full => rotate its files

opened a connection for each request => share one pool of connections
left connections open after the request => close idle connections

sent mails to real customers from the test system => outgoing mail is disabled outside production
sent mails twice to customers => make sending idempotent

left a finished feature flag behind => remove flags once the rollout is complete
rolled out to everybody at once => put new features behind a flag

guessed what the numbers mean => ask the domain expert about units
guessed how many users there are => ask analytics for the figures

the script stopped half way and left garbage => clean up in a finally block
the script stopped half way and lost data => write results after each step

prices were compared as floats => represent money as integers of cents
prices were shown without a currency => format money with its currency

changed behaviour and formatting in one commit => keep refactoring apart from functional changes
changed behaviour without a flag => keep the old behaviour as the default

user input went straight into the shell => never build commands from untrusted text
user input went straight into the page => escape text before rendering it

waited a fixed time for the server => poll until it is ready
polled the server every millisecond => wait longer between polls

the button could be pressed twice => disable it while the request runs
the button could not be reached by keyboard => make it focusable

kept going after the build was red => stop and repair a broken build first
kept the pull request open after the build was red => close stale pull requests

backups were never tried => restore a backup once a month
backups were not encrypted => encrypt backups at rest

ran the job at noon => heavy jobs run at night
ran the job on one machine => heavy jobs run on the cluster

named the branch after myself => branches carry the ticket number
named the branch after myself => branches carry the feature's name

showed the raw error to users => show a friendly message to users
showed the raw error to users => report the error to monitoring

wrote a comment about what the line does => comments say why
wrote no comment about the workaround => comments link the bug

merged without waiting for review => two approvals are needed
merged without waiting for CI => all checks have to be green

upgraded every dependency in one go => upgrade one dependency at a time
upgraded every dependency in one go => upgrade dependencies only with a changelog

gave the container all capabilities => drop capabilities the container does not need
gave the container no memory limit => set limits for every container

stored sessions in memory => keep sessions in the shared store
stored sessions for a year => expire sessions after a day

put validation into the controller => validate in the model
put validation into the client only => validate on the server as well

read the config at import => read the config when the app starts
read the config at every request => read the config once when the app starts

exposed the admin panel to the internet => the admin panel is for the internal network only
exposed the debug panel to customers => debug output is for developers only

returned an empty list for an unknown user => answer not found for an unknown user
returned an empty list for a locked user => answer forbidden for a locked user
""")

MEANT_TUNED, MEANT_HELD_OUT = _MEANT[::2], _MEANT[1::2]
NEAR_TUNED, NEAR_HELD_OUT = _NEAR[::2], _NEAR[1::2]
