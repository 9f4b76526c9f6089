"""A machine for each client, and the table of what was seen on them."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.clients import installation
from tests.clients.clients import CLIENTS, Client
from tests.clients.feature_table import NO, FeatureTable
from tests.clients.first_session import FirstSession
from tests.clients.machine import Machine

_TABLE = pytest.StashKey[FeatureTable]()
_OURS = "tests/clients/"
_SECONDS = "MESH_CLIENTS_SECONDS"  # in the environment: after so many no further test begins
_BEGAN = time.monotonic()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TABLE] = FeatureTable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Which cell each test fills. What the document says does not work may fail; all else may not."""
    table, why_not = config.stash[_TABLE], installation.missing()
    for item in items:
        if not item.nodeid.startswith(_OURS):
            continue
        item.add_marker(pytest.mark.clients)
        if why_not:
            item.add_marker(pytest.mark.skip(reason=why_not))
        feature, client = item.get_closest_marker("feature"), _client_of(item)
        if feature is None or client is None:
            continue
        title = str(feature.args[0])
        item.add_marker(pytest.mark.xdist_group(client.name))  # on one machine, which they share
        item.user_properties.append(("cell", f"{title}\t{client.name}"))
        if title in client.lacks:
            item.add_marker(pytest.mark.skip(reason=f"not offered by {client.title}: {client.lacks[title]}"))
        elif table.said(title, client.name) == NO:
            reason = f"{client.title}: the table says no"
            item.add_marker(pytest.mark.xfail(reason=reason, raises=AssertionError, strict=False))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any machine is made for it."""
    limit = os.environ.get(_SECONDS)
    if limit and item.nodeid.startswith(_OURS) and time.monotonic() - _BEGAN > float(limit):
        pytest.skip(f"no time left: {_SECONDS} is {limit}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _REPORTS.append(report)


_REPORTS: list[pytest.TestReport] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Compare with the document, or write it."""
    table = config.stash[_TABLE]
    for report in _REPORTS:
        table.saw(report)
    for line in table.finish():
        terminalreporter.write_line(line)


def _client_of(item: pytest.Item) -> Client | None:
    call = getattr(item, "callspec", None)
    return call.params.get("client") if call is not None else None


@pytest.fixture(scope="session", params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """Each of them."""
    found: Client = request.param
    return found


@pytest.fixture(scope="session")
def worked(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstSession]:
    """A machine on which the client was set up, and has worked. Tests look at what came of it, and change nothing."""
    machine = Machine(tmp_path_factory.mktemp(client.name), client)
    try:
        machine.start()
        machine.install()
        yield FirstSession(machine)
    finally:
        machine.close()


@pytest.fixture
def machine(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine for one test: nothing of ours is installed, and no node runs."""
    made = Machine(tmp_path_factory.mktemp(client.name), client)
    try:
        yield made
    finally:
        made.close()
