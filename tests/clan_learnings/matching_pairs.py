"""Corrections of coding agents in pairs: the same thing in two wordings, and things that only look alike.

Data alone, nothing is computed here. A correction is a line `what went wrong => the right way`; two lines are a pair,
an empty line ends it. The rules of matching were tuned on the `TUNED` halves. The `HELD_OUT` halves were written
afterwards, without running anything on them; whoever tunes on them must write new ones.
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


def _pairs(block: str) -> list[Pair]:
    """Read the lines of a block; anything that is not two corrections and an empty line is a mistake in the data."""
    found = []
    for paragraph in block.strip().split("\n\n"):
        one, other = paragraph.split("\n")
        found.append(Pair(_correction(one), _correction(other)))
    return found


def _correction(line: str) -> Correction:
    wrong, right = line.split(" => ")
    return Correction(wrong.strip(), right.strip())


SAME_TUNED = _pairs("""
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
""")

ALIKE_TUNED = _pairs("""
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
""")
