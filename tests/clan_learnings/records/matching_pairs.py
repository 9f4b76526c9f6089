"""Corrections of coding agents in pairs: the same thing in two wordings, and things that only look alike.

Data alone, nothing is computed here. A correction is a line `what went wrong => the right way`; two lines are a pair,
an empty line ends it. The rules of matching were tuned on `TUNED`, in rounds: each round was written without looking,
run once, and then joined it; at first sight the rounds had a precision of 0.95, 0.78, 0.95, 0.83 and 0.90. `HELD_OUT`
was written last (0.97 at first sight) and the rules were not changed in its favour: a defect it showed, calls such as
`exists()` read as words, was repaired and changed none of its figures. Whoever tunes on it must write a new one.
"""

from typing import NamedTuple


class Correction(NamedTuple):
    """One correction as an agent wrote it."""

    wrong: str
    right: str


class Pair(NamedTuple):
    """Two corrections to compare."""

    one: Correction
    other: Correction


def read_pairs(block: str) -> list[Pair]:
    """Read the lines of a block; anything that is not two corrections and an empty line is a mistake in the data."""
    found = []
    for paragraph in block.strip().split("\n\n"):
        one, other = paragraph.split("\n")
        found.append(Pair(_correction(one), _correction(other)))
    return found


def _correction(line: str) -> Correction:
    wrong, right = line.split(" => ")
    return Correction(wrong.strip(), right.strip())


SAME_TUNED = read_pairs("""
used npm install to add a package => use pnpm in this repo
installed a package with npm => this repo uses pnpm, not npm

pushed with git push --force => use git push --force-with-lease
force pushed using --force => push with --force-with-lease instead of --force

committed directly to main => create a feature branch and open a pull request
commits were made directly on main => open a PR from a feature branch

called datetime.utcnow() => use datetime.now(UTC)
datetime.utcnow() was used => call datetime.now(UTC) instead

ran pytest without -x => run pytest with -x
pytest was run without the -x flag => always pass -x to pytest

edited the generated file schema.ts by hand => regenerate schema.ts with make codegen
schema.ts was edited manually although it is generated => run make codegen to regenerate schema.ts

hardcoded port 8080 => read the port from the PORT environment variable
the port was hard-coded to 8080 => take the port from the env var PORT

caught bare Exception => catch specific exceptions
bare Exception was caught => only catch specific exceptions

used print for logging => use the logger
print statements used for logging => log with the logger, not print

wrote a test that sleeps => use the fake clock in tests
tests slept => tests should use a fake clock

did not run ruff before committing => run ruff before you commit
committed without running ruff => always run ruff before committing

used var in JavaScript => use const or let
var was used in JS => prefer const or let over var

added a dependency without asking => ask before adding dependencies
new dependencies were added without asking => always ask first before adding a dependency

used docker-compose => use docker compose v2
ran docker-compose commands => run docker compose v2 commands

opened the file without encoding => pass encoding="utf-8" to open()
open() was called without an encoding => always give open() encoding="utf-8"

mocked the database in integration tests => use a real Postgres in integration tests
integration tests mocked the DB => integration tests must run against a real Postgres

used os.path.join => use pathlib.Path
os.path.join was used for paths => prefer pathlib.Path to os.path.join

string concatenation in a SQL query => use parameterized queries
SQL query was built by string concatenation => always use parameterised queries for SQL

wrote `any` as the type => use `unknown` instead of `any`
typed it as `any` => the type should be `unknown`, not `any`

skipped the tests => do not skip tests
tests were skipped => never skip tests

left console.log in the code => remove console.log before committing
console.log statements were left in => delete console.log before commit

used yarn add => use pnpm add
packages were added with yarn add => add packages with pnpm add

amended a pushed commit => make a new commit instead of amending
pushed commits were amended => never amend pushed commits, create a new commit

ran migrations by hand on production => migrations are run by the deploy job
production migrations were run manually => let the deploy job run migrations

used `==` to compare with None => use `is None`
compared to None using `==` => compare with `is None`

put secrets in the .env.example file => .env.example must only have placeholders
secrets were put in .env.example => only placeholders belong in .env.example

used setTimeout to wait in the test => use waitFor in tests
tests waited with setTimeout => wait using waitFor in the test

imported from lodash => import from lodash-es
imports came from lodash => always import from lodash-es, not lodash

restarted the whole cluster => only restart the affected pod
whole cluster was restarted => restart just the affected pod

built the image as root => run the container as a non-root user
image was built as root => containers should run as a non-root user

forgot to update CHANGELOG.md => update CHANGELOG.md with every change
CHANGELOG.md was not updated => every change must update CHANGELOG.md

passed a timeout of 30 seconds => the timeout must be 5 seconds
timeout was 30s => set the timeout to 5s

used python3 directly => use the venv python .venv/bin/python
ran python3 => run .venv/bin/python

edited poetry.lock manually => run poetry lock
poetry.lock was manually edited => use poetry lock instead of editing poetry.lock

compared floats with == => use math.isclose for floats
floats were compared using == => compare floats with math.isclose

ran the full test suite for one file => run only the tests of the changed file
full test suite was run for a single file => only run tests for the changed file

used fetch in components => use the apiClient wrapper
components called fetch => components should call the apiClient wrapper instead of fetch

returned 200 on validation errors => return 422 on validation errors
validation errors returned 200 => validation errors must return 422

wrote to /tmp => write to the tmp_path fixture
tests wrote into /tmp => use the tmp_path fixture instead of /tmp

set state in render => set state in useEffect
state was set during render => state should be set in useEffect

disabled the eslint rule => fix the eslint error
eslint rule was disabled => don't disable the eslint rule, fix the error

used kubectl apply by hand => deploy through ArgoCD
kubectl apply was used manually => deployments go through ArgoCD, never kubectl apply

created a migration with a raw SQL file => generate migrations with alembic
migrations were created as raw SQL files => use alembic to generate the migration

used sed -i on macOS => use gsed
ran sed -i on macOS => gsed should be used on macOS

logged the access token => never log tokens
access tokens were logged => tokens must not be logged

squashed the commits => keep the commits separate
commits were squashed => do not squash commits, keep them separate

used relative imports => use absolute imports
relative imports were used => imports should be absolute

assumed Node 16 => the project runs Node 20
thought it was Node.js 16 => this project is on Node 20

used unittest.TestCase => write plain pytest functions
test was written with unittest.TestCase => tests should be plain pytest functions

ignored the return code of subprocess.run => pass check=True to subprocess.run
subprocess.run was called without check=True => always use check=True with subprocess.run

ran terraform apply => only run terraform plan, CI applies
executed terraform apply => run terraform plan only; apply is done by CI

used tabs for indentation => indent with 2 spaces
indentation was done with tabs => use 2 spaces for indenting

deleted the failing test => fix the failing test
failing tests were deleted => never delete failing tests, fix them

made a breaking change to the public API => keep the public API backwards compatible
public API was broken => the public API must stay backwards compatible

answered in English => answer in German
replied in English => reply in German

ran git add . and committed everything => stage only the files you changed
staged everything with git add . => only stage files that you changed

wrote a Dockerfile on top of ubuntu => base images on python:3.11-slim
Dockerfile used ubuntu as its base => use python:3.11-slim as the base image

created the component in JavaScript => components are written in TypeScript
wrote components in JS => write all components in TS

used requests in async code => use httpx.AsyncClient in async code
requests was called from async code => async code should use httpx.AsyncClient instead of requests

stored the password in plain text => hash passwords with argon2
passwords were stored in plain text => always hash passwords using argon2

ran the migration before taking a backup => take a backup before running migrations
migrated without a backup => back up first, then run the migration

returned a list from the endpoint without pagination => paginate every list endpoint
list endpoints were not paginated => every list endpoint must be paginated

used cd in the script => use absolute paths in scripts
scripts changed directory with cd => prefer absolute paths over cd

called the production API from a test => tests must use the sandbox API
test called the prod API => use the sandbox API in tests

assumed the default branch is master => the default branch is main
thought master was the default branch => main is the default branch, not master

used useEffect to derive state => compute derived state with useMemo
derived state was computed in useEffect => use useMemo for derived state

set the log level to DEBUG in production => log level in production is INFO
production logged at DEBUG => use log level INFO in prod

raised a generic RuntimeError => raise DomainError
RuntimeError was thrown => throw DomainError instead of RuntimeError

guessed the API of the library => read the documentation of the library first
invented an API for the library => check the library's docs before using it

used float for prices => use Decimal for prices
prices were stored as floats => prices should be Decimal, not float

wrote comments that repeat the code => comments should explain why
comments just repeated the code => write comments explaining the why

changed the public signature of parse_config => keep the signature of parse_config stable
parse_config's signature was changed => do not change the signature of parse_config

used Optional without a default => give optional fields a default of None
optional fields had no default => optional fields need None as the default

ran cargo test => use cargo nextest run
tests were run using cargo test => run tests with cargo nextest

merged with a merge commit => rebase onto main and fast-forward
created a merge commit => rebase on main, then fast-forward

put business logic in the controller => business logic belongs in services
the controller contained business logic => move business logic into the service layer

used inline styles => use Tailwind classes
styled components inline => style with Tailwind classes instead of inline styles

bumped the version by hand => the version is bumped by release-please
version was bumped manually => let release-please bump versions

pinned numpy<2 => numpy 2 is supported, do not pin it
pinned numpy below 2 => don't pin numpy, version 2 is supported

used rm -rf on the build folder => run make clean
deleted the build directory with rm -rf => use make clean instead of rm -rf

left debug prints in the code => remove debug prints before opening a PR
debug print statements were left in => debug prints must be removed before a pull request

queried the database in a loop => use select_related to avoid N+1 queries
DB queries inside a loop => fetch with select_related so there are no N+1 queries

ignored a failing CI check => fix CI before merging
merged while CI was failing => never merge before CI is fixed

wrote timestamps in local time => store timestamps in UTC
timestamps were saved in local time => always save timestamps as UTC

used grep -r => use rg
searched with grep -r => search using rg, not grep

generated protobuf files with protoc => use buf generate
protoc was used to generate the protobuf files => generate protobuf files using buf generate

exposed port 5432 to the host => do not publish port 5432
port 5432 was exposed on the host => port 5432 must not be published

asked for confirmation for every file => apply the whole change, then report
asked to confirm each file => don't ask per file; apply the entire change and report

wrote snapshot tests => assert on visible text
used snapshot tests => tests should assert visible text, no snapshots

used the deprecated componentWillMount => use componentDidMount
componentWillMount is deprecated => replace componentWillMount with componentDidMount

did not handle the None returned by find_user() => check the result of find_user() for None
forgot that find_user() can return None => always check find_user() for None

reformatted the whole file => only touch the lines you need
the entire file got reformatted => touch only lines that need it

added a new utility for slugify => reuse slugify from core/text.py
wrote slugify again => use the existing slugify in core/text.py

used assert in production code => raise an exception instead of assert
assert statements in production code => production code must raise exceptions, not assert

ran the dev server in the foreground => start the dev server in the background
dev server blocked the foreground => run the development server in the background

sent emails from the request handler => enqueue emails with Celery
emails were sent in the request handler => send emails through Celery

used React.FC => type props explicitly
components were typed with React.FC => don't use React.FC, type the props explicitly

put the test next to the source => tests live in tests/
tests were placed beside the source => put tests into tests/

used time.time() to measure durations => use time.perf_counter()
durations were measured with time.time() => measure durations using time.perf_counter()

made one huge commit => split work into small commits
everything was in a single huge commit => make small commits

wrote the commit message in past tense => use the imperative mood in commit messages
commit messages were in the past tense => write commit messages in the imperative

hard-coded the URL of the API => read the API URL from settings.API_URL
API url was hardcoded => use settings.API_URL

started a second postgres container => reuse the running postgres container
another Postgres container was started => use the Postgres container that is already running

catches Exception and passes silently => log the exception and re-raise it
exceptions were swallowed silently => exceptions must be logged and re-raised

used a mutable default argument => default to None and create the list inside
mutable default args were used => use None as the default and create the list in the function

wrote the answer as a long essay => answer in at most five lines
answers were long essays => keep the answer to 5 lines at most

ran prettier on generated files => exclude generated files from prettier
generated files were formatted with prettier => prettier must not format generated files

used jest.mock for the api => use msw to mock the API
API was mocked via jest.mock => mock the API with msw instead of jest.mock

pushed a tag before the build was green => tag only after the build is green
tagged before the build was green => wait for a green build before pushing a tag

used MongoDB for the audit trail => the audit trail goes to Postgres
audit trail was stored in MongoDB => store the audit trail in PostgreSQL, not MongoDB

called sys.exit in a library function => raise an exception from library functions
library functions called sys.exit => library functions should raise exceptions

rewrote history on a shared branch => never rebase shared branches
rebased a shared branch => do not rewrite the history of shared branches

ran playwright tests headed => run playwright with --headless
playwright was run in headed mode => always pass --headless to playwright

used an f-string in a logging call => pass arguments lazily to logger.info
logging calls contained f-strings => use lazy arguments in logger.info instead of f-strings

registered the route in app.py => routes are registered in routes/__init__.py
the route was added to app.py => register routes in routes/__init__.py

used crypto.randomBytes for ids => use nanoid for ids
IDs were generated with crypto.randomBytes => generate ids with nanoid

did not quote variables in bash => quote all variables in bash scripts
bash variables were not quoted => always quote variables in Bash

increased the timeout to hide a flaky test => find the cause of the flaky test
flaky test was hidden by a longer timeout => fix the cause of flaky tests, don't raise the timeout

imported a private module _internal => import from the public API only
_internal was imported => only import from the public API

sorted the list in the template => sort in the query
list was sorted in the template => the query should do the sorting

used zod v3 => the project is on zod v4
wrote zod 3 schemas => use zod 4 schemas in this project

updated one translation => update all translations together
only one translation was updated => all translations must be updated together

used wget => use curl -fsSL
downloaded with wget => download using curl -fsSL instead of wget

asked the user to run the command => run the command yourself
told the user to run a command => execute commands yourself, do not ask the user

made the request without a User-Agent header => set a User-Agent header on every request
requests lacked a User-Agent header => every request needs a User-Agent header

shared one session between threads => create one session per thread
threads shared a single session => each thread must have its own session

used Array.sort on the props => copy the array before sorting
props were mutated by Array.sort => never sort props in place, copy the array first

closed the issue => leave closing issues to the maintainer
issue was closed by the agent => only the maintainer closes issues

used helm install => use helm upgrade --install
ran helm install => run helm upgrade --install instead

compared strings case sensitively => compare emails case-insensitively
emails were compared case-sensitively => email comparison must be case-insensitive

wrote a regex to parse HTML => parse HTML with BeautifulSoup
HTML was parsed with a regex => use BeautifulSoup for parsing HTML, not regexes

created the table without an index on user_id => add an index on user_id
the table had no index on user_id => user_id needs an index

used Math.random for tokens => use crypto.getRandomValues for tokens
tokens were generated using Math.random => generate tokens with crypto.getRandomValues

ran the linter on the whole repo => lint only changed files
linted the entire repository => run the linter only on changed files

claimed the tests passed without running them => run the tests before claiming they pass
said tests pass but did not run them => never claim that tests pass before running them

left commented-out code => delete dead code
commented-out code was left in => remove dead code instead of commenting it out

put environment variables in the Dockerfile => pass env vars at runtime
env vars were baked into the Dockerfile => environment variables are passed at runtime

used GET to delete => use DELETE /items/{id}
deleted items through GET => items are deleted with DELETE /items/{id}

printed a secret to the console => never print secrets
secrets were printed on the console => secrets must never be printed

used Selenium for the browser tests => browser tests use Playwright
browser tests were written with Selenium => write browser tests in Playwright, not Selenium

edited package.json by hand to add a dependency => run pnpm add
package.json was edited manually => use pnpm add instead of editing package.json

forgot to close the database connection => close the connection in a finally block
database connection was not closed => always close DB connections in finally

sent the whole log to the user => show only the last 20 lines of the log
showed the user the entire log => only show the last 20 lines

passed user input to os.system => use subprocess.run with a list
os.system was called with user input => call subprocess.run with a list instead

wrote the changelog in the PR body => changelog entries go to changes/
changelog entry was put in the pull request body => put changelog entries into changes/

started work without reading CONTRIBUTING.md => read CONTRIBUTING.md before starting
CONTRIBUTING.md was not read before the work started => always read CONTRIBUTING.md first

used int(time.time()) as the id => ids are UUIDv7
IDs were made from time.time() => use UUIDv7 for ids

ran database tests against sqlite => run database tests against Postgres
DB tests used SQLite => database tests must run on Postgres, not SQLite

created an abstract base class => use typing.Protocol
abstract base classes were used => prefer typing.Protocol over abstract base classes

kept retrying the same failing command => stop after two failures and report
the same failing command was retried again and again => after two failures stop and report

force pushed to a colleague's branch => never force-push to branches of others
force-pushed on someone else's branch => do not force push to other people's branches

used eslint-disable-next-line => fix the lint error
suppressed the lint error with eslint-disable-next-line => lint errors should be fixed

returned HTML errors from the API => API errors are JSON
API returned errors as HTML => return API errors as JSON

called useQuery inside a condition => call hooks at the top level
useQuery was called conditionally => hooks must be called at the top level

set replicas in deployment.yaml => replicas are managed by the HPA
replicas were set in deployment.yaml => let the HPA manage replicas

used strftime("%s") => use int(dt.timestamp())
called strftime("%s") => int(dt.timestamp()) should be used

wrote German comments => comments must be in English
comments were in German => write comments in English

tested private methods => test only the public interface
private methods were tested => tests should only use the public interface

mixed refactoring and features in one commit => separate refactoring from features
commit mixed a refactoring with a feature => put refactorings and features in separate commits

used the first search result from StackOverflow => check the official docs
copied a StackOverflow answer => consult the official documentation

added a try/except around the import => let the import fail
import was wrapped in try/except => do not wrap imports in try/except

used == for the token comparison => use hmac.compare_digest
tokens were compared with == => compare tokens using hmac.compare_digest

published the package from a laptop => packages are published by CI
package was published from the laptop => only CI publishes packages

used px units => use rem units in CSS
CSS was written in px => CSS units should be rem, not px

did not pin the GitHub Action => pin GitHub Actions to a SHA
GitHub Actions were unpinned => always pin actions to a SHA

assumed the API is 0-indexed => pages start at 1
thought pages start at 0 => page numbers start at 1

summarised what was done at great length => keep the summary to three sentences
summary was too long => summaries have at most three sentences

used Thread => use ThreadPoolExecutor
spawned raw Thread objects => use a ThreadPoolExecutor, not Thread

changed files outside of src/billing => only change files in src/billing
files outside src/billing were changed => stay inside src/billing

used Flask for the new service => new services are built with FastAPI
the new service was built with Flask => build new services on FastAPI, not Flask

stored sessions in memory => sessions belong in Redis
sessions were kept in memory => store sessions in Redis

wrote tests with random data => seed the random generator in tests
tests used unseeded random data => always seed the random generator in a test

used git commit -m "wip" => write a meaningful commit message
committed with the message "wip" => commit messages should be meaningful

modified an applied migration => add a new migration
applied migration was edited => never edit an applied migration, create a new one

showed raw exceptions to users => show users a friendly error message
raw exceptions were shown to the user => users should see a friendly error message

called the LLM in unit tests => stub the LLM client in unit tests
unit tests called the LLM => unit tests must use a stubbed LLM client

used Object.assign => use the spread operator
Object.assign was used => prefer the spread operator to Object.assign

set DEBUG=True in settings/prod.py => DEBUG must be False in settings/prod.py
settings/prod.py had DEBUG=True => set DEBUG=False in settings/prod.py

did the refactoring without tests => write characterization tests before refactoring
refactored untested code => before a refactoring, write characterization tests

bundled moment into the frontend => use date-fns in the frontend
frontend imported moment => frontend should import date-fns instead of moment

ran the seed script twice => the seed script must be idempotent
seed script was run twice => make the seed script idempotent

removed the license header => keep the license header in every file
license headers were removed => never remove license headers

used sleep 10 in the workflow => poll the health endpoint
workflow waited with sleep 10 => the workflow should poll the health endpoint, not sleep

uploaded the artifact to S3 by hand => artifacts are uploaded by the release workflow
artifact was manually uploaded to S3 => let the release workflow upload artifacts

wrote the interface as IUserService => interfaces have no I prefix
interface was named IUserService => do not prefix interfaces with I

missed the null check in formatName => check for null in formatName
formatName had no null check => add a null check to formatName

ran cargo fmt on vendored crates => run cargo fmt only on our crates
vendored crates were formatted by cargo fmt => only format our own crates with cargo fmt

queried with LIKE '%x%' => use the full-text index
LIKE '%x%' was used in a query => queries should use the full text index

reported success although the build failed => check the exit code before reporting success
build failed but success was reported => never report success before checking the exit code

put types in types.d.ts => colocate types with their module
types were put into types.d.ts => types should be colocated with the module

created a new Axios instance => reuse the shared Axios instance
new axios instances were created => use the shared Axios instance

worked on main in the main checkout => use a git worktree for each task
did the task in the main checkout => create a git worktree per task

passed the password on the command line => read the password from stdin
password was passed on the CLI => passwords are read from stdin

used a regex for emails => validate emails with email-validator
emails were validated by regex => use email-validator to validate emails

I used npm although the repo has a pnpm-lock.yaml => use pnpm when there is a pnpm-lock.yaml
npm was used in a repo with pnpm-lock.yaml => always use pnpm if pnpm-lock.yaml exists

the agent ran `alembic upgrade head` on the shared database => run alembic only against the local database
alembic was run on the shared DB => only run alembic on the local db

I changed the expected value to make the test pass => fix the code, do not change expected values
expected values were changed so that the test passes => never change expected values, fix the code

used float('inf') as a sentinel => use None as the sentinel
float('inf') was the sentinel => the sentinel should be None

wrapped every call in useCallback => use useCallback only for memoized children
useCallback was put around every call => only use useCallback for memoized children

returned a 302 from the JSON API => the JSON API must never redirect
JSON API redirected with 302 => never redirect in the JSON API

read the entire file into memory => stream large files
large files were read into memory => large files must be streamed

created a new virtualenv => use the existing .venv
made another virtualenv => always use .venv

the PR description was empty => fill in the PR template
PR was opened with an empty description => always fill in the pull request template

assumed bash on Windows => scripts must work in PowerShell
thought Windows had bash => scripts have to run in PowerShell

wrote `except:` => write `except Exception:`
a bare `except:` was used => use `except Exception:`

added sleeps to the e2e tests => wait for selectors in e2e tests
e2e tests contained sleeps => e2e tests should wait for selectors

used the ORM for a bulk insert => use COPY for bulk inserts
bulk insert was done with the ORM => bulk inserts should use COPY

deployed without running the smoke tests => run smoke tests before every deploy
smoke tests were not run before deploying => always run the smoke tests before a deploy

replied before the build finished => wait for the build to finish before replying
answered before the build had finished => wait until the build finishes before you answer

used an offset-naive datetime => always use timezone-aware datetimes
datetimes were naive => datetimes must be timezone aware

committed large binaries => store binaries in Git LFS
large binaries were committed to git => binaries belong in Git LFS

set the version in setup.py => the version lives in pyproject.toml
version was set in setup.py => put the version in pyproject.toml, not setup.py

used curl | bash to install rustup => install rustup with brew
rustup was installed by curl | bash => use brew to install rustup

called the private method _flush => call flush instead of _flush
_flush was called => use flush, never _flush

left the feature branch unpushed => push the feature branch at the end of a session
feature branch was not pushed => always push the feature branch when the session ends

used a singleton for the settings => inject the settings
settings were a singleton => settings must be injected

guessed the ticket number => ask for the ticket number
ticket number was guessed => never guess ticket numbers, ask for them

sorted imports by hand => let ruff sort imports
imports were sorted manually => imports are sorted by ruff

wrote SQL in the handler => SQL goes into repositories/
the handler contained SQL => put SQL in repositories/, not in handlers
""")

SAME_HELD_OUT = read_pairs("""
used Webpack for the new package => new packages are bundled with Vite
the new package was bundled with Webpack => bundle new packages using Vite

ran the benchmark on battery power => run benchmarks on the CI runner
benchmarks were run on battery power => benchmarks must run on the CI runner

fixed the bug without a regression test => add a regression test for every bug fix
bug was fixed without adding a regression test => every bug fix needs a regression test

used `git reset --hard` and lost work => use `git stash` before resetting
git reset --hard threw work away => stash with git stash before a reset

declared the prop as optional => the prop `id` is required
the prop was optional => prop `id` must be required

installed the package globally with pip => install packages in the venv with uv
pip was used to install packages globally => use uv to install into the venv

opened a second pull request for the same issue => push to the existing pull request
a second PR was opened => push to the existing PR instead of opening another

used `innerHTML` with user data => use `textContent` for user data
user data was assigned to innerHTML => assign user data to textContent

made the Kafka consumer commit automatically => commit Kafka offsets manually
Kafka offsets were committed automatically => Kafka offsets must be committed manually

asserted on private attributes => assert on the public behaviour
private attributes were asserted => test public behaviour, not private attributes

checked in the .idea folder => add .idea to .gitignore
.idea was committed => .idea must be in .gitignore

wrote the Helm values inline => Helm values go to values.yaml
helm values were inline => put Helm values in values.yaml

used Python's json for large payloads => use orjson for large payloads
large payloads were parsed with json => large payloads should be parsed with orjson

translated identifiers to German => identifiers stay English
identifiers were in German => keep identifiers in English

called logger.error in a retry loop => log retries with logger.warning
retries were logged by logger.error => use logger.warning for retries, not logger.error

shipped source maps to production => do not ship source maps to production
source maps were shipped to prod => never ship sourcemaps to production

changed the lockfile in an unrelated PR => do not touch the lockfile in unrelated PRs
unrelated PR changed the lock file => never touch the lock file in an unrelated PR

blocked the event loop with requests.get => use aiohttp in async handlers
requests.get blocked the event loop => async handlers must use aiohttp

printed the diff in the answer => refer to files by path instead of printing diffs
diffs were printed in the answer => do not print diffs, refer to files by path

used 127.0.0.1 in docker compose => use the service name in docker compose
docker-compose used 127.0.0.1 => in Docker Compose use the service name

wrote a 400 line function => functions have at most 50 lines
function was 400 lines long => keep functions under 50 lines

skipped type checking => run mypy --strict before committing
mypy was not run => always run mypy --strict before a commit

ran chmod 777 => use chmod 640
chmod 777 was executed => set permissions with chmod 640

hardcoded colors => use the theme tokens
colours were hard coded => use theme tokens instead of hard-coded colours

put TODOs in code => open an issue instead of a TODO
TODO comments were left => create issues, not TODOs

used class components in React => write function components with hooks
React class components were used => React components are functions with hooks

sent the API key in the query string => send the API key in the Authorization header
API key was in the query string => put the API key into the Authorization header

overwrote config.local.toml => never overwrite config.local.toml
config.local.toml was overwritten => do not overwrite config.local.toml

used Jenkins for the pipeline => pipelines run in GitHub Actions
the pipeline was built in Jenkins => build pipelines with GitHub Actions, not Jenkins

named variables x and y => use descriptive variable names
variables were called x and y => variable names should be descriptive

used Promise chains => use async/await
promises were chained with then => prefer async/await to promise chains

indexed into the tuple => unpack the tuple
tuple was accessed by index => tuples should be unpacked

left the port-forward running => stop port-forwards when done
port-forward was left running => always stop the port-forward at the end

used pip freeze for requirements => use pip-compile for requirements
requirements came from pip freeze => generate requirements with pip-compile

did not check the HTTP status => call response.raise_for_status()
HTTP status was ignored => always call raise_for_status() on responses

made changes on the generated client in gen/ => change openapi.yaml and run make gen
generated client in gen/ was changed => edit openapi.yaml, then run make gen

used the count() query for existence => use exists()
existence was checked with count() => check existence using exists()

installed Node with apt => install Node with fnm
apt was used to install Node.js => use fnm to install node

merged dependabot PRs without CI => wait for CI before merging dependabot PRs
dependabot PRs were merged before CI finished => merge dependabot pull requests only after CI

put the helper in a new file => put helpers in lib/strings.ts
helper went to a new file => helpers belong in lib/strings.ts

returned early without releasing the lock => release the lock in a defer
lock was not released on early return => always release locks with defer

ran `npm audit fix --force` => never run npm audit fix with --force
npm audit fix --force was run => do not use --force with npm audit fix

used camelCase for database columns => database columns are snake_case
database columns were named in camelCase => use snake_case for DB columns

described the change in the commit title only => write a commit body that explains why
commit had no body => every commit needs a body explaining why

shelled out to git => use pygit2
called git as a subprocess => use pygit2 instead of calling git

stored money in cents as float => store money as integer cents
money was a float => money must be integer cents

used an emoji in the commit message => no emojis in commit messages
commit message contained emojis => never use emojis in commit messages

parsed the arguments with sys.argv => parse arguments with click
sys.argv was parsed by hand => use click to parse arguments

let the test depend on the order => tests must not depend on order
tests depended on their order => tests should be independent of the order

used :latest in the Deployment => pin the image digest in the Deployment
the Deployment used :latest => Deployments must pin the image digest
""")

ALIKE_TUNED = read_pairs("""
used yarn => use npm
used yarn => use pnpm

used npm => use pnpm
used pnpm => use npm

pushed without lease => use git push --force-with-lease
pushed without lease => use git push --force

started the server on 8081 => use port 8080
started the server on 8080 => use port 8081

did not run migrations => run migrations automatically
ran migrations => do not run migrations automatically

returned the wrong status => return HTTP 404 for missing users
returned the wrong status => return HTTP 405 for missing users

used the system python => use python3.11
used the system python => use python3.12

branched from the wrong branch => branch from main
branched from the wrong branch => branch from master

formatted with black => format with ruff
formatted with ruff => format with black

linted with flake8 => lint with ruff
linted with pylint => lint with mypy

committed before running tests => run tests before committing
ran tests before committing => commit before running tests

deleted the migration => create a migration with alembic
created a migration => delete the migration with alembic

restarted nginx => reload nginx
reloaded nginx => restart nginx

used git merge => use git rebase
used git rebase => use git merge

used tabs => use spaces
used spaces => use tabs

wrote unit tests => write integration tests
wrote integration tests => write unit tests

used sync client => use the async client
used async client => use the sync client

added a semicolon => do not add semicolons
left out the semicolon => always add semicolons

installed globally => install with pip in the venv
installed globally => install with pipx in the venv

used docker run => use docker exec
used docker exec => use docker run

ran the command on staging => run the command on production
ran the command on production => run the command on staging

used single quotes => use double quotes
used double quotes => use single quotes

set retries to 5 => set retries to 3
set retries to 3 => set retries to 5

used git branch -D => use git branch -d
used git branch -d => use git branch -D

used getUserById => use getUserByEmail
used getUserById => use getUserByName

edited config.yaml => edit config.toml
edited config.yaml => edit config.json

logged at info => log at debug level
logged at info => log at warning level

used var => use const
used var => use let

called fetch => call apiClient.get
called fetch => call apiClient.post

used localStorage for the token => store the token in sessionStorage
used localStorage for the token => store the token in a cookie

used == => use ===
used === => use ==

timeout was too short => set the timeout to 30 seconds
timeout was too short => set the timeout to 30 minutes

pushed to origin => push to upstream
pushed to upstream => push to origin

ran cargo build => run cargo check
ran cargo check => run cargo build

used go get => use go install
used go install => use go get

ran pytest -x => run pytest -n auto
ran pytest -n auto => run pytest -x

ran pytest => run pytest -q
ran pytest => run pytest

ignored mypy errors => fix mypy errors, do not ignore them
fixed mypy errors => ignore mypy errors, do not fix them

used camelCase => use snake_case
used snake_case => use camelCase

put it in src/utils => put it in src/lib
put it in src/utils => put it in src/core

squashed the commits => do not squash commits
kept commits separate => squash commits

asked the user => do not ask the user before small changes
did not ask the user => ask the user before small changes

used http => use https for internal calls
used https => use http for internal calls

wrote an essay => keep answers short
answered too briefly => keep answers detailed

ran as user 1000 => run the container as user 1001
ran as user 1001 => run the container as user 1000

used Postgres 14 => use Postgres 16
used Postgres 14 => use Postgres 15

used the REST API => use the GraphQL API
used the GraphQL API => use the REST API

stored dates as strings => store dates as UTC timestamps
stored dates as UTC timestamps => store dates as strings

used time.sleep => use asyncio.sleep
used asyncio.sleep => use time.sleep

imported moment => import dayjs
imported moment => import date-fns

did not await save() => await save()
awaited save() => do not await save()

caught ValueError => catch KeyError
caught KeyError => catch ValueError

used Optional[str] => use str | None
used str | None => use Optional[str]

ran make test => run make lint
ran make lint => run make test

deployed on Friday => never deploy on Friday
deployed on Monday => never deploy on Monday

committed the lock file => do not commit package-lock.json
did not commit the lock file => commit package-lock.json

wrote the test after the code => write the test before the code
wrote the test before the code => write the test after the code

used React class components => use function components
used Vue class components => use function components

assumed Linux => scripts must run on macOS
assumed Linux => scripts must run on Windows

enabled strict mode => disable strict mode in tsconfig.json
disabled strict mode => enable strict mode in tsconfig.json

used TS2322 suppression => fix error TS2322
used TS2345 suppression => fix error TS2345

suppressed E501 => fix E501 instead of noqa
suppressed F401 => fix F401 instead of noqa

increased memory => limit memory to 512 MB
increased memory => limit memory to 512 GB

used redis for the queue => use RabbitMQ for the queue
used redis for the queue => use Kafka for the queue

opened a PR against main => open PRs against develop
opened a PR against develop => open PRs against main

wrote docs in English => write docs in German
wrote docs in German => write docs in English

used terraform apply => run terraform plan
used terraform apply => run terraform destroy

removed the feature flag => keep the feature flag
kept the feature flag => remove the feature flag

mocked the network => mock the database in tests
mocked the database => mock the network in tests

used kubectl delete pod => use kubectl rollout restart
used kubectl rollout restart => use kubectl delete pod

changed the client => change the server
changed the server => change the client

returned null => return an empty list
returned an empty list => return null

used the read replica for writes => write to the primary
used the primary for reads => read from the replica

bumped the major version => bump the minor version
bumped the minor version => bump the patch version

ran npm install in CI => run npm ci in CI
ran npm ci in CI => run npm install in CI

used sudo => never use sudo with pip
used sudo => never use sudo with npm

used process.env.API_URL => read API_URL from config
used process.env.API_KEY => read API_KEY from config

used uuid1 => use uuid4
used uuid4 => use uuid7

ran tests in parallel => run tests serially
ran tests serially => run tests in parallel

used sha1 => use sha256
used md5 => use sha512

set NODE_ENV=production => set NODE_ENV=test
set NODE_ENV=test => set NODE_ENV=production

called the endpoint /v1/users => call /v2/users
called the endpoint /v1/orders => call /v2/orders

did not close the file => close the file with a context manager
did not lock the file => lock the file with a context manager

wrote a class => write a function
wrote a function => write a class

used innerHTML => use textContent
used textContent => use innerHTML

validated on the client => validate input on the server
validated on the server => validate input on the client

ran with --dry-run => run without --dry-run
ran without --dry-run => run with --dry-run

showed the diff => do not show the whole diff
hid the diff => show the whole diff

used latest => pin the image to 3.19
used latest => pin the image to 3.20

used git add -A => use git add -p
used git commit -a => use git commit -p

left a TODO => remove the TODO comments
removed a TODO => keep the TODO comments

sorted ascending => sort descending by date
sorted descending => sort ascending by date

used float for money => use Decimal for money
used Decimal for money => use integer cents for money

started the sidecar first => start the database first
started the database first => start the sidecar first

returned 500 => return 503 during maintenance
returned 500 => return 502 during maintenance

used the prod key => use the test API key
used the test key => use the prod API key

wrote to stdout => write logs to stderr
wrote to stderr => write data to stdout

hard reset => use git stash
hard reset => use git revert

used eval => never use eval
used exec => never use exec

used threads => use processes for CPU work
used threads => use asyncio for IO work

cleared the cache => do not clear the cache before a build
did not clear the cache => clear the cache before a build

named the branch feature/x => name branches fix/x
named the branch fix/x => name branches feature/x

skipped the review => ask Anna for review
skipped the review => ask Boris for review

edited the vendored code => patch upstream, not vendor/
edited upstream => patch vendor/, not upstream

tested on Chrome => test on Firefox
tested on Chrome => test on Safari

committed .env => add .env to .gitignore
committed .env => add .env to .dockerignore

ran the formatter => run the formatter on changed files only
ran the formatter => run the formatter on all files

used pip install => use uv pip install
used uv pip install => use uv add

installed packages with yarn => install packages with bun
installed packages with yarn => install packages with npm

npm was used here => pnpm should be used
pnpm was used in this repo => please use npm

amended the commit => use git commit --amend --no-edit
amended the commit => use git commit --amend

skipped hooks => never pass --no-verify
skipped signing => never pass --no-gpg-sign

connected to the wrong port => Postgres listens on 5433
connected to the wrong port => Postgres listens on 5432

returned 401 => return 403 when permission is missing
returned 403 => return 401 when the token is missing

used Java 17 => the build needs Java 21
used Java 21 => the build needs Java 17

deleted the branch => delete the branch after merging
deleted the branch => delete the branch before merging

wrote the docs first => update the docs after the code
wrote the code first => update the docs before the code

logged with print => log with structlog
logged with print => log with loguru

mocked requests => mock with responses
mocked requests => mock with respx

used conda => create the venv with uv
used conda => create the venv with virtualenv

used Dockerfile => edit docker-compose.yml
used Dockerfile => edit docker-compose.override.yml

queried users => query the orders table
queried orders => query the users table

used git pull => use git fetch
used git pull => use git pull --rebase

ran eslint => run eslint --fix
ran eslint => run eslint without --fix

cached responses => never cache responses of /login
did not cache responses => always cache responses of /login

used Promise.all => use Promise.allSettled
used Promise.allSettled => use Promise.all

used map => use forEach for side effects
used forEach => use map for results

wrote class UserService => name it UserRepository
wrote class UserService => name it UserGateway

set max_connections to 100 => set max_connections to 200
set max_connections to 100 => set max_connections to 300

deployed to eu-west-1 => deploy to eu-central-1
deployed to eu-west-1 => deploy to us-east-1

used S3 => store uploads in GCS
used S3 => store uploads in Azure

merged without review => get one approval before merging
merged without tests => get green tests before merging

started redis => stop redis before the tests
stopped redis => start redis before the tests

read the file synchronously => use fs.promises.readFile
wrote the file synchronously => use fs.promises.writeFile

used JSON => serialize with msgpack
used msgpack => serialize with JSON

used tests/unit => put new tests in tests/integration
used tests/integration => put new tests in tests/unit

opened an issue => open a pull request
opened a pull request => open an issue

ran alembic upgrade head => run alembic downgrade -1
ran alembic upgrade head => run alembic stamp head

used a list => use a set for membership
used a list => use a tuple for constants

used useState => use useReducer in forms
used useState => use useRef in forms

called the sandbox => call the production endpoint for invoices
called production => call the sandbox endpoint for invoices

allowed CORS from everywhere => allow CORS only from app.example.com
allowed CORS from everywhere => allow CORS only from admin.example.com

encrypted with AES-128 => encrypt with AES-256
hashed with SHA-1 => hash with SHA-256

ran black with line length 88 => line length is 120
ran black with line length 88 => line length is 100

used Makefile => run just build
used Makefile => run just test

kept backwards compatibility => remove the old endpoint
broke backwards compatibility => keep the old endpoint

asked too many questions => decide yourself on naming
decided alone => ask the user about naming

removed unused imports => leave unused imports in __init__.py
left unused imports => remove unused imports in __init__.py

used a global variable => pass the config as an argument
used a global variable => pass the logger as an argument

edited the French translation => edit only en.json
edited the French translation => edit only de.json

ran the whole suite => run only tests marked slow
ran the whole suite => run only tests not marked slow

wrote to the database => read from the cache
wrote to the cache => read from the database

used INFO => log retries as WARNING
used INFO => log retries as ERROR

squashed on merge => use merge commits on release branches
merged on release branches => squash commits on feature branches

indented with 4 spaces => indent YAML with 2 spaces
indented with 2 spaces => indent Python with 4 spaces

used gcc => compile with clang
used clang => compile with gcc

used Vue 2 syntax => use the Vue 3 composition API
used Vue 3 syntax => use the Vue 2 options API

pushed to the fork => push to origin
pushed to origin => push to the fork

rounded up => round prices down
rounded down => round prices up

trusted the cache => invalidate the cache on write
trusted the cache => invalidate the cache on logout

used kubectl exec => use kubectl logs
used kubectl exec => use kubectl describe

scaled to 3 replicas => scale to 2 replicas
scaled to 2 replicas => scale to 3 replicas

retried forever => retry at most 3 times
retried forever => retry at most 10 times

used process.exit => throw an error in library code
threw an error => call process.exit in library code

used the v1 client => use the v2 client for payments
used the v1 client => use the v3 client for payments

did not validate => validate the email field
did not validate => validate the phone field

imported React => do not import React in JSX files
forgot to import React => import React in JSX files

added types => do not add type hints to tests
added no types => add type hints to tests

ran on every push => run the workflow only on tags
ran on every push => run the workflow only on pull requests

left the server running => stop the dev server after the task
stopped the server => leave the dev server running after the task

used INNER JOIN => use LEFT JOIN for optional relations
used LEFT JOIN => use INNER JOIN for required relations

created an index => create the index concurrently
dropped an index => drop the index concurrently

used npm run dev => use npm run build
used npm run dev => use npm run start

fixed the symptom => fix the test
fixed the test => fix the code, not the test

used Any => annotate with object
used Any => annotate with a Protocol

set timeout=10 => set connect_timeout=10
set timeout=10 => set read_timeout=10

opened with mode w => open logs with mode a
opened with mode a => open logs with mode w

sent the request as GET => send the request as POST
sent the request as GET => send the request as PUT

returned snake_case keys => the JSON API returns camelCase keys
returned camelCase keys => the JSON API returns snake_case keys

committed generated code => generated code is not committed
did not commit generated code => generated code is committed

used ECONNREFUSED handling => retry on ECONNRESET
used ECONNREFUSED handling => retry on ETIMEDOUT

wrote the config in YAML => config files are TOML
wrote the config in YAML => config files are JSON

ran as root => sudo is needed for make install
ran with sudo => sudo is not needed for make install

bumped lodash => bump axios to 1.7
bumped lodash => bump axios to 1.6

used setInterval => poll every 5 seconds
used setInterval => poll every 5 minutes

mutated the argument => return a copy of the list
copied the list => mutate the list in place

used Python 3.12 features => code must run on Python 3.10
used Python 3.12 features => code must run on Python 3.9

restarted the api => restart the worker after a config change
restarted the worker => restart the api after a config change

wrote to develop => hotfixes go to main
wrote to main => features go to develop

used terraform 1.5 => use opentofu
used opentofu => use terraform 1.5

ignored warnings => treat warnings as errors
treated warnings as errors => ignore warnings from third parties

used the user's name => identify users by id
used the user's id => identify users by email

used assertEqual => use plain assert
used assertEqual => use assertCountEqual

used GitHub Actions => pipelines run on GitLab CI
used GitLab CI => pipelines run on GitHub Actions

ran go vet => run golangci-lint
ran golangci-lint => run go vet

changed the schema => add a nullable column
changed the schema => drop the nullable column

used the main thread => update the UI on the main thread
used a worker thread => never update the UI on a worker thread

wrote lowercase SQL => write SQL keywords in upper case
wrote uppercase SQL => write SQL keywords in lower case

formatted Markdown => do not wrap Markdown at 80 columns
formatted Markdown => wrap Markdown at 80 columns

exposed metrics => serve /metrics on the admin port
exposed health => serve /health on the admin port

called close() => call flush() before exit
called close() => call fsync() before exit

used the OLD_API_KEY => use API_KEY_V2
used the OLD_API_KEY => use API_KEY_V3

asserted on logs => assert on the return value
asserted on the return value => assert on logs

threw away the stack trace => raise from the original error
showed the stack trace => hide the stack trace from users

ran tests with coverage => run tests without coverage locally
ran tests without coverage => run tests with coverage locally

loaded the model eagerly => load the model lazily
loaded the model lazily => load the model eagerly

used git checkout => use git switch to change branches
used git checkout => use git restore to undo changes

wrote an ADR => write an ADR for every new dependency
wrote an ADR => no ADR for new dependencies

used localhost => bind to 0.0.0.0 in containers
bound to 0.0.0.0 => bind to 127.0.0.1 on laptops

used pytest.raises => match the message in pytest.raises
used pytest.warns => match the message in pytest.warns

used MongoDB for the audit trail => the audit trail goes to Postgres
used MongoDB for the audit trail => the audit trail goes to ClickHouse

ran playwright headed => run playwright with --headless
ran playwright headless => run playwright with --headed

used nanoid => use ulid for ids
used ulid => use nanoid for ids

ran helm install => run helm upgrade --install
ran helm upgrade => run helm rollback

rebased main => do not rebase main
merged main => rebase on main

used zod v3 => use zod v4
used zod v4 => use zod v3

used wget => use curl -fsSL
used wget => use curl -sS

sorted in the template => sort in the query
sorted in the query => sort in the template

opened one connection per request => reuse one connection per process
opened one connection per process => open one connection per request

registered routes in app.py => register routes in routes/admin.py
registered routes in app.py => register routes in routes/public.py

put the secret into values.yaml => put secrets into sealed-secrets.yaml
put the secret into values.yaml => put secrets into vault

deleted rows => soft delete rows in users
deleted rows => hard delete rows in users

used the staging bucket => upload to assets-prod
used the prod bucket => upload to assets-staging

used Array.sort => use Array.toSorted
used Array.reverse => use Array.toReversed

bumped the chart => bump appVersion in Chart.yaml
bumped the chart => bump version and dependencies in Chart.yaml

used camelCase in JSON => JSON keys are snake_case
used camelCase in Python => Python names are snake_case

wrote the test in Jest => write component tests with Vitest
wrote the test in Jest => write browser tests with Playwright

answered before reading the file => read the file before answering
read the file before answering => answer before reading the file

ran tests after pushing => run tests before pushing
ran lint after pushing => run lint before pushing

formatted the code => never format vendor/
formatted the code => never format generated/

used --no-cache => build images without --no-cache
built with the cache => build images with --no-cache

disabled telemetry => enable telemetry in dev
disabled telemetry => enable telemetry in prod

retried on 429 => wait 60 seconds on 429
retried on 503 => wait 60 seconds on 503

cloned the repo with depth 1 => clone with full history
cloned the full history => clone with depth 1

returned a dict => return a dataclass from services
returned a dataclass => return a dict from services

ran make => run make release
ran make => run make debug

merged PRs on green => merge only with two approvals
merged PRs on green => merge only with one approval of an owner

used the Node 18 image => use node:20-alpine
used the Node 18 image => use node:22-alpine

logged user emails => do not log emails
logged user names => do not log names

set CPU limits => do not set CPU limits on pods
set no CPU limits => set CPU limits on pods

used a relative path => use absolute paths in cron jobs
used an absolute path => use relative paths in imports

copied the helper => import the helper from shared/dates.ts
copied the helper => import the helper from shared/money.ts

used print => use logging.getLogger(__name__)
used logging.getLogger() => use structlog.get_logger()

added a column => add the column with a default
removed a column => remove the column in a second release

mocked time => freeze time with freezegun
mocked time => freeze time with time-machine

pinned actions by tag => pin GitHub Actions by commit hash
pinned actions by hash => pin GitHub Actions by tag

cached node_modules => cache ~/.npm in CI
cached node_modules => cache ~/.cache/pnpm in CI

used bash arrays => scripts must be POSIX sh
used POSIX sh => scripts may use bash arrays

opened the port => open port 443 in the firewall
opened the port => close port 443 in the firewall

used SELECT * => list the columns in SELECT
used SELECT * => list the columns in INSERT

wrote tests for getters => do not test getters
wrote no tests for setters => test setters

asked the user => ask the user before deleting files
asked the user => ask the user before creating files

used ruff check => run ruff format
used ruff format => run ruff check --fix

ran in UTC => show times in the user's timezone
ran in local time => store times in UTC

released on a tag => release from the main branch
released on a tag => release from a release branch

used the API key of Anna => use the API key of the bot account
used the API key of the bot account => use your own API key

threw in the reducer => reducers must be pure
threw in the middleware => middleware must be pure

set workers to 4 => set workers to the CPU count
set workers to 4 => set threads to the CPU count

trimmed the input => trim input on the left only
trimmed the input => trim input on the right only

used PATCH => use PUT for full updates
used PUT => use PATCH for partial updates

shut down at once => drain connections before shutdown
shut down at once => flush metrics before shutdown

sent mail in tests => tests must not send mail
sent no mail in tests => tests must send mail to mailhog

used uvicorn => run gunicorn in production
used gunicorn => run uvicorn in production

kept the old key => rotate keys every 90 days
kept the old key => rotate keys every 30 days

wrote docstrings => docstrings use Google style
wrote docstrings => docstrings use NumPy style

used async def => use def for CPU-bound endpoints
used def => use async def for IO-bound endpoints

guessed the column name => look the column up in schema.sql
guessed the column type => look the type up in models.py

expanded the scope => fix only the reported bug
fixed only the reported bug => fix all bugs of this kind

used vim => open files with code -r
used vim => open files with code -n

left the branch => delete the remote branch after merge
left the branch => delete the local branch after merge

used Selenium => use Playwright for browser tests
used Selenium => use Cypress for browser tests

edited package.json => run pnpm add
edited package.json => run pnpm add -D

ran pnpm add => run pnpm add in packages/web
ran pnpm add => run pnpm add in packages/api

closed the connection => close the connection in a finally block
closed the connection => keep the connection open

showed the log => show the last 20 lines of the log
showed the log => show the last 50 lines of the log

used os.system => use subprocess.run
used os.popen => use subprocess.Popen

read the docs late => read CONTRIBUTING.md before starting
read the docs late => read SECURITY.md before starting

used UUIDv4 => ids are UUIDv7
used UUIDv7 => ids are UUIDv4

tested on sqlite => test on Postgres
tested on sqlite => test on MySQL

used ABCs => prefer Protocol over ABC
used Protocols => prefer ABC over Protocol

stopped after one failure => retry twice before reporting
retried twice => report after one failure

force pushed => force push only your own branches
force pushed => never force push

returned HTML => return errors as JSON
returned JSON => return pages as HTML

set replicas => set replicas in values.yaml
set replicas => never set replicas in values.yaml

wrote comments in German => write comments in English
wrote commit messages in German => write commit messages in English

tested private methods => test public methods
tested public methods => test private methods too

copied code from the docs => cite the docs
cited the docs => copy the example from the docs

wrapped imports => do not wrap imports in try/except
did not wrap imports => wrap optional imports in try/except

published from CI => publish from a laptop in emergencies
published from a laptop => publish from CI

used px => use rem for fonts
used px => use em for fonts

pinned to a tag => pin actions to a SHA
pinned to a SHA => pin images to a digest

started at page 0 => pages start at 1
started at page 1 => pages start at 0

wrote a long summary => keep summaries to three sentences
wrote a short summary => summaries need at least three sentences

changed src/billing => only change src/billing
changed src/billing => never change src/billing

ran the importer => run the importer with --dry-run first
ran the exporter => run the exporter with --dry-run first

used the cache => bypass the cache for admins
bypassed the cache => use the cache for admins

created a table => create tables in schema public
created a table => create tables in schema audit

used git stash => commit work in progress to a wip branch
used git stash => drop work in progress

added an index => add an index on created_at
added an index => add an index on updated_at

loaded fonts from Google => host fonts locally
loaded icons from Google => host icons locally

used Redux => keep server state in React Query
used Redux => keep form state in React Hook Form

ran black => run black --check in CI
ran isort => run isort --check in CI

wrote a shell script => write scripts in Python
wrote a Python script => write scripts in shell

sent a Slack message => post releases to Slack
sent a Slack message => do not post to Slack

gave admin rights => grant read access only
gave read access => grant write access too

threw an Error => throw a TypeError for bad arguments
threw an Error => throw a RangeError for bad arguments

built for amd64 => build images for arm64
built for arm64 => build images for amd64

merged the PR => let the author merge the PR
merged the PR => let the reviewer merge the PR

upgraded Django => stay on Django 4.2
upgraded Django => move to Django 5.0

used a cron job => use a systemd timer
used a systemd timer => use a Kubernetes CronJob

kept the lock => release the lock before calling out
released the lock => keep the lock while calling out

parsed dates by hand => parse dates with dateutil
parsed dates by hand => parse dates with pendulum

exported default => use named exports
used named exports => use default exports for pages

ran tests with the network => tests run offline
ran tests offline => smoke tests need the network

used gRPC => internal services speak HTTP
used HTTP => internal services speak gRPC

answered with code only => explain the code
explained the code => answer with code only

rotated logs daily => rotate logs weekly
rotated logs weekly => rotate logs daily

committed to release/1.2 => backport to release/1.3
committed to release/1.2 => backport to release/1.1

formatted numbers in US style => format numbers with Intl.NumberFormat
formatted dates in US style => format dates with Intl.DateTimeFormat

used vitest watch => run vitest run
used vitest run => run vitest bench

deleted snapshots => update snapshots with -u
deleted snapshots => review snapshots before committing

allowed null => make email required
allowed null => make phone required

used port 3000 => the web app runs on 5173
used port 3000 => the API runs on 8000

mocked the clock => mock the clock in unit tests only
mocked the clock => mock the clock in all tests

increased the heap => set -Xmx2g
increased the heap => set -Xmx4g

deployed from main => deploy from tags
deployed from tags => deploy from main

used a barrel file => import from the module itself
imported from the module => import from the barrel file

checked in dist => ignore dist/ in git
ignored dist => check dist/ into git

fetched all rows => fetch rows in batches of 500
fetched all rows => fetch rows in batches of 1000

silenced the warning => fix the DeprecationWarning
silenced the warning => fix the ResourceWarning

used Flask => build services with FastAPI
used Flask => build services with Starlette

stored sessions in memory => store sessions in Redis
stored sessions in memory => store sessions in Memcached

committed "wip" => squash wip commits before review
committed "wip" => never squash wip commits before review

edited a migration => never edit applied migrations
edited a migration => never delete applied migrations

showed exceptions => show users an error code
showed exceptions => show users a friendly message

set DEBUG=True => set DEBUG=False in prod.py
set DEBUG=False => set DEBUG=True in dev.py

used date-fns => use Temporal in the frontend
used date-fns => use Luxon in the frontend

ran the seed script => run the seed script before e2e tests
ran the seed script => run the seed script after e2e tests

removed the header => keep the license header
removed the header => keep the security header

uploaded to S3 => upload artifacts to GitHub releases
uploaded to S3 => upload artifacts to Artifactory

named it IUserService => interfaces have no I prefix
named it UserService => interfaces have an I prefix

ran cargo fmt => run cargo fmt --all
ran cargo fmt => run cargo clippy --all

used LIKE => use the full-text index for search
used the full-text index => use LIKE for short columns

put types in types.d.ts => put types in types.ts
put types in types.ts => put types in types.d.ts

created an Axios instance => reuse the Axios instance of src/http.ts
created an Axios instance => reuse the Axios instance of src/auth.ts

worked in the main checkout => use one worktree for each task
worked in a worktree => use the main checkout for small tasks

read the password from stdin => read the password from the keychain
read the password from stdin => read the password from an env var

validated emails => validate emails on signup
validated emails => validate emails on import

opened a draft PR => open PRs as ready for review
opened a ready PR => open PRs as drafts

capped the pool at 10 => cap the pool at 20
capped the pool at 20 => cap the pool at 10

used offset pagination => use cursor pagination
used cursor pagination => use offset pagination

used Ubuntu 22.04 => runners use Ubuntu 24.04
used Ubuntu 24.04 => runners use Ubuntu 22.04

compressed with gzip => compress bundles with zstd
compressed with gzip => compress bundles with brotli

mounted the volume read-write => mount the volume read-only
mounted the volume read-only => mount the volume read-write

returned Optional => return a Result from parsers
returned Optional => raise ParseError from parsers

lowered the log level => raise the log level in tests
raised the log level => lower the log level in tests

drained the queue => pause the queue during deploys
paused the queue => drain the queue during deploys

used a semaphore => limit concurrency with a semaphore of 5
used a semaphore => limit concurrency with a semaphore of 8

wrote in the first person => write docs in the second person
wrote in the second person => write docs in the first person

cancelled the job => never cancel jobs on main
cancelled the job => never cancel jobs on release

used kubectl port-forward => use kubectl proxy
used kubectl port-forward => use telepresence

checked with is None => check with is not None
checked with is not None => check with is None

bought a license => use MIT licensed libraries
bought a license => use Apache licensed libraries

sent metrics to Datadog => send metrics to Prometheus
sent traces to Datadog => send traces to Jaeger

ran the e2e suite locally => run e2e tests in CI only
ran the e2e suite in CI => run e2e tests locally only

saved the draft => autosave drafts every 30 seconds
saved the draft => autosave drafts every 60 seconds

imported at the top => import torch lazily
imported at the top => import pandas lazily

let the agent push => agents may commit but not push
let the agent commit => agents may push but not commit

used flexbox => lay out pages with CSS grid
used CSS grid => lay out toolbars with flexbox

escaped HTML => escape HTML in emails
escaped HTML => do not escape HTML in emails

joined in Python => join tables in SQL
joined in SQL => join results in Python

named the test test_1 => name tests after the behaviour
named the test test_1 => name tests after the ticket

used the default region => set AWS_REGION explicitly
used the default profile => set AWS_PROFILE explicitly

warned the user => block the user after 5 failed logins
warned the user => block the user after 3 failed logins

reverted the commit => revert with git revert
reverted the commit => revert with git reset

vendored the dependency => add the dependency as a submodule
used a submodule => vendor the dependency

used strings => use enums for status
used enums => use literal types for status

pulled the image => always pull before docker build
pulled the image => never pull before docker build

printed JSON => print JSON with --json only
printed a table => print tables with --table only

closed the ticket => move the ticket to QA
closed the ticket => move the ticket to Done

npm was used in a repo with pnpm-lock.yaml => use pnpm
npm was used in a repo with yarn.lock => use yarn

ran alembic on the shared database => run alembic on the local database
ran seeds on the shared database => run seeds on the local database

changed the expected value => fix the code, not the test
changed the code => fix the test, not the code

used float('inf') => use None as the sentinel
used float('inf') => use object() as the sentinel

used useCallback => use useCallback for memoized children
used useMemo => use useMemo for memoized children

redirected with 302 => redirect with 303 after POST
redirected with 302 => redirect with 307 after POST

read the file into memory => stream files larger than 10 MB
read the file into memory => stream files larger than 100 MB

used virtualenv => use the existing .venv
used .venv => create a fresh virtualenv

left the description empty => fill in the PR template
left the description empty => fill in the issue template

wrote except Exception => catch OSError
wrote except Exception => catch TimeoutError

waited with sleep => wait for selectors
waited with sleep => wait for network idle

used the ORM => use COPY for bulk inserts
used COPY => use the ORM for bulk inserts

deployed on red => run smoke tests before deploying
deployed on red => run load tests before deploying

replied early => wait for the build before replying
waited too long => reply before the build finishes

used naive datetimes => use aware datetimes
used aware datetimes => use naive datetimes in the legacy API

committed binaries => store binaries in Git LFS
committed binaries => store binaries in the artifact registry

set the version in setup.py => set the version in pyproject.toml
set the version in setup.py => set the version in setup.cfg

installed with curl => install rustup with brew
installed with curl => install rustup with apt

called _flush => call flush
called flush => call _flush

pushed the feature branch => push feature branches to the fork
pushed the feature branch => push feature branches to upstream

injected settings => settings are a module-level singleton
used a singleton => inject settings

sorted imports => let ruff sort imports
sorted imports => let isort sort imports

wrote SQL in the handler => put SQL in repositories/
wrote SQL in the handler => put SQL in queries.sql

used one big Dockerfile => use multi-stage builds
used multi-stage builds => use one Dockerfile per service

restarted postgres => restart pgbouncer first
restarted postgres => restart the replica first

rejected the input => accept trailing slashes in URLs
accepted the input => reject trailing slashes in URLs

hid the button => disable the button while saving
disabled the button => hide the button while saving

wrote RST => docs are written in Markdown
wrote RST => docs are written in AsciiDoc

used ISO dates => show dates as DD.MM.YYYY
used ISO dates => show dates as MM/DD/YYYY

kept trailing commas => remove trailing commas in JSON
removed trailing commas => keep trailing commas in Python

allowed 3 failures => fail the job after 1 failure
allowed 1 failure => fail the job after 3 failures

sampled 100 % of traces => sample 10 % of traces
sampled 100 % of traces => sample 1 % of traces

locked the row => use SELECT FOR UPDATE
locked the row => use advisory locks

cloned over https => clone over ssh
cloned over ssh => clone over https

used a private registry => publish to npmjs
used npmjs => publish to the private registry

muted the test => quarantine flaky tests with a ticket
muted the test => delete flaky tests

used grid => align forms with grid
used tables => align reports with tables

trusted the header => read the user from the JWT
trusted the JWT => read the user from the session

ran gofmt => run gofumpt
ran gofmt => run goimports

dropped privileges late => drop privileges before binding
dropped privileges early => drop privileges after binding

turned on autocommit => turn off autocommit
turned off autocommit => turn on autocommit

enabled HTTP/2 => enable HTTP/3
enabled HTTP/2 => enable HTTP/1.1

checked types at runtime => check types with mypy
checked types at runtime => check types with pyright

truncated the table => truncate tables between tests
truncated the table => never truncate tables between tests

emitted source maps => upload source maps to Sentry
emitted source maps => do not upload source maps to Sentry

updated the README => update the README for every flag
updated the README => update the man page for every flag

failed over to eu => fail over to us-east
failed over to us => fail over to eu-west

used the newest model => use claude-sonnet for reviews
used the newest model => use claude-haiku for reviews

batched the writes => flush writes every 100 ms
batched the writes => flush writes every 100 s

opened a file handle => close handles in teardown
opened a file handle => close handles in setup
""")

ALIKE_HELD_OUT = read_pairs("""
used Webpack => bundle with Vite
used Webpack => bundle with esbuild

ran benchmarks on battery => run benchmarks on the CI runner
ran benchmarks on the CI runner => run benchmarks on bare metal

fixed the bug => add a regression test for every bug fix
fixed the bug => add a changelog entry for every bug fix

used git reset --hard => use git stash
used git reset --hard => use git reset --soft

made the prop optional => the prop `id` is required
made the prop optional => the prop `key` is required

installed globally => install with uv tool
installed globally => install with uv sync

opened a second PR => push to the existing PR
pushed to the existing PR => open a second PR

used innerHTML => use textContent
used innerText => use textContent only in tests

committed offsets automatically => commit offsets manually
committed offsets manually => commit offsets automatically

asserted on attributes => assert on calls
asserted on calls => assert on attributes

committed .idea => add .idea to .gitignore
committed .vscode => add .vscode to .gitignore

wrote values inline => put values in values.yaml
wrote values inline => put values in values-prod.yaml

used json => use orjson
used orjson => use ujson

wrote German identifiers => identifiers are English
wrote German messages => messages are English

logged errors => log retries with logger.warning
logged errors => log retries with logger.debug

shipped source maps => ship source maps to staging
shipped source maps => never ship source maps to staging

touched the lockfile => update the lockfile weekly
touched the lockfile => update the lockfile daily

used requests => use aiohttp in handlers
used requests => use httpx in handlers

printed the diff => print the diff stat
printed the diff => print the file names

used 127.0.0.1 => use the service name in docker compose
used 127.0.0.1 => use host.docker.internal in docker compose

wrote long functions => functions have at most 50 lines
wrote long functions => functions have at most 30 lines

ran mypy => run mypy --strict
ran mypy => run mypy --install-types

ran chmod 777 => use chmod 640
ran chmod 777 => use chmod 600

hardcoded colors => use theme tokens
hardcoded spacing => use theme spacing

left TODOs => open an issue for each TODO
left TODOs => fix each TODO

ran tests in watch mode => run tests once
ran tests once => run tests in watch mode

exported the function => keep the function private
kept the function private => export the function

upgraded to React 19 => stay on React 18
stayed on React 18 => upgrade to React 19

forwarded port 22 => close port 22
closed port 22 => open port 22

used memcpy => use memmove for overlapping buffers
used memmove => use memcpy for large buffers

retried POST => retry only GET requests
retried GET => retry only idempotent requests

rebased the PR => merge main into the PR
merged main into the PR => rebase the PR on main

used a queue => process webhooks in a queue
used a queue => process webhooks inline

rendered on the client => render product pages on the server
rendered on the client => render product pages at build time

used Lambda => run long jobs on Fargate
used Fargate => run short jobs on Lambda

skipped CI => never use [skip ci] on main
skipped CI => use [skip ci] for docs

cached the token => cache tokens for 5 minutes
cached the token => cache tokens for 50 minutes

created the user => create users with the role viewer
created the user => create users with the role editor

ignored the linter => add the rule to ruff.toml
ignored the linter => remove the rule from ruff.toml

dumped the database => dump the schema only
dumped the database => dump the data only

signed commits with GPG => sign commits with SSH keys
signed commits with SSH keys => sign commits with GPG

tested with Node 20 => test with Node 18 and 20
tested with Node 20 => test with Node 20 and 22

wrote plural table names => table names are singular
wrote singular table names => table names are plural

joined strings => join paths with path.join
joined paths => join URLs with new URL

raised the limit => raise the limit to 1 GB
raised the limit => lower the limit to 1 GB

used mutexes => guard the map with sync.RWMutex
used mutexes => guard the map with sync.Map

posted in the channel => post alerts in #ops
posted in the channel => post alerts in #dev

vacuumed the table => run VACUUM ANALYZE
vacuumed the table => run VACUUM FULL

sent plain text mail => send mails as HTML and text
sent HTML mail => send mails as text

asked twice => ask once, then continue
continued => ask, then wait

used class components => write function components
used function components => write class components

sent the key in the query => send the key in the Authorization header
sent the key in the query => send the key in the X-Api-Key header

overwrote config.local.toml => never overwrite config.local.toml
overwrote config.toml => never overwrite config.toml

used Jenkins => run pipelines in GitHub Actions
used Jenkins => run pipelines in CircleCI

used short names => use descriptive variable names
used long names => use short variable names

used promise chains => use async/await
used async/await => use promise chains in workers

unpacked the tuple => use a named tuple
unpacked the tuple => use a dict

stopped the port-forward => leave port-forwards running
left the port-forward running => stop port-forwards

used pip freeze => use pip-compile
used pip freeze => use pip-sync

ignored the status => retry on status 502
ignored the status => retry on status 504

changed gen/ => edit openapi.yaml
changed gen/ => edit asyncapi.yaml

used count() => use exists()
used exists() => use count()

installed Node with apt => install Node with fnm
installed Node with apt => install Node with nvm

merged dependabot PRs => merge dependabot PRs after CI
merged dependabot PRs => close dependabot PRs

put helpers in lib/strings.ts => put helpers in lib/dates.ts
put helpers in lib/dates.ts => put helpers in lib/strings.ts

released the lock => release the lock in a defer
took the lock => take the lock in a defer

ran npm audit fix => run npm audit
ran npm audit fix => run npm outdated

used camelCase columns => columns are snake_case
used camelCase tables => tables are snake_case

wrote no body => every commit needs a body
wrote no body => every PR needs a body

used pygit2 => call git as a subprocess
called git => use pygit2

stored floats => store money as integer cents
stored floats => store weights as integer grams

used emojis => no emojis in commit messages
used emojis => start commit messages with an emoji

used sys.argv => parse arguments with click
used sys.argv => parse arguments with argparse

depended on order => run tests in random order
depended on order => run tests in fixed order

used :latest => pin the image digest
used :latest => pin the image tag

encoded as base64 => encode ids as hex
encoded as hex => encode ids as base64

scaled up => scale down at night
scaled down => scale up in the morning

granted SELECT => grant SELECT on views only
granted SELECT => grant SELECT on tables only

wrote a hook => use the useAuth hook
wrote a hook => use the useUser hook

rolled back => roll forward after a failed deploy
rolled forward => roll back after a failed deploy

copied the fixture => use the fixture client
copied the fixture => use the fixture session

awaited in a loop => await Promise.all
awaited Promise.all => await in a loop to respect rate limits

set Cache-Control: no-store => set Cache-Control: max-age=60
set Cache-Control: max-age=60 => set Cache-Control: no-store

linted on commit => lint in the pre-commit hook
linted on commit => lint in the pre-push hook

used Alpine => base images on Debian
used Debian => base images on Alpine

wrote tests in the same PR => tests go into the same PR
wrote tests in the same PR => tests go into a separate PR

used the GPU => train small models on CPU
used the CPU => train large models on GPU

set ulimit 1024 => set ulimit 65536
set ulimit 65536 => set ulimit 1024

parsed YAML with load => use yaml.safe_load
parsed YAML with load => use yaml.full_load

deleted old backups => keep backups for 7 days
deleted old backups => keep backups for 30 days

showed a spinner => show a skeleton while loading
showed a skeleton => show a spinner while loading

asked the model => do not send customer data to the model
asked the model => send only anonymised data to the model

edited in place => write to a temporary file, then rename
wrote to a temporary file => edit the file in place

checked permissions in the view => check permissions in middleware
checked permissions in middleware => check permissions in the view

installed the plugin => install plugin eslint-plugin-import
installed the plugin => install plugin eslint-plugin-n

used make -j => run make -j4
used make -j => run make -j8

loaded env from .env => load env from .env.local
loaded env from .env => load env from .env.test

traced requests => trace requests with OpenTelemetry
traced requests => trace requests with Zipkin

threw strings => throw Error objects
threw Error objects => return errors as values

invited everyone => invite users as viewers
invited everyone => invite users as admins
""")
