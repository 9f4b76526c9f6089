"""Asking a running sidecar from a command: what is said when there is none, or none any more."""

import os
from pathlib import Path

import pytest

from mesh.app.node_api import ask
from mesh.core.errors import MeshError


def test_a_sidecar_that_stops_while_it_is_asked_is_not_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its socket goes between one look at it and the next."""
    socket = tmp_path / "sidecar.sock"
    socket.write_bytes(b"")
    monkeypatch.setenv("MESH_SOCKET", os.fspath(socket))
    exists = os.path.exists

    def stopped(path: str) -> bool:
        found = exists(path)
        socket.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os.path, "exists", stopped)
    with pytest.raises(MeshError, match="no sidecar is running") as raised:
        ask(os.fspath(tmp_path), "GET", "/peers")
    assert raised.value.next_step == "start it: mesh up --detach"
