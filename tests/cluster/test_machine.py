"""Machines: what is demanded before a port of Ray's is opened, and what a user is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.cluster import machine as machines
from fyke.cluster.machine import Machine, check
from fyke.errors import UserError


def test_loopback_needs_nothing_more() -> None:
    check("127.0.0.9", "", "")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_what_ray_takes_for_a_network_card_is_refused(address: str) -> None:
    with pytest.raises(UserError, match=r"127\.0\.0\.2 stays on this machine"):
        check(address, "token", "certs")


@pytest.mark.parametrize(("token", "tls"), [("", ""), ("token", ""), ("", "certs")])
@pytest.mark.parametrize("address", ["10.0.0.5", "192.168.1.1", "2001:db8::1", "0.0.0.0", "8.8.8.8"])
def test_an_address_that_others_reach_needs_token_and_tls(address: str, token: str, tls: str) -> None:
    with pytest.raises(UserError, match="run any code here"):
        check(address, token, tls)


def test_with_both_it_is_allowed() -> None:
    check("10.0.0.5", "token", "certs")


@pytest.mark.parametrize("command", [["up"], ["join", "127.0.0.1:1"], ["try"], ["crawl", "http://a.test/"], ["status"]])
def test_without_ray_one_sentence(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machines, "find_spec", lambda name: None)
    (tmp_path / "fyke-node").mkdir()
    (tmp_path / "fyke-node" / "machine.json").write_text(json.dumps({"address": "127.0.0.1", "head": "x", "token": ""}))
    assert run(["cluster", *command]) == 2
    assert capfd.readouterr().err == "fyke: fyke cluster needs Ray: pip install 'fyke[cluster]'\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["up", "--address", "10.1.2.3"], "give --token FILE and --tls DIR"),
        (["up", "--address", "nowhere"], "is no IP address"),
        (["join", "10.1.2.3:6379", "--address", "10.1.2.4", "--token", "t"], "give --tls DIR"),
        (["join", "127.0.0.1:6379", "--address", "127.0.0.2", "--token", "nothing"], "copy the file"),
        (["status", "--folder", "empty"], "is no machine of a cluster"),
        (["down", "--folder", "empty"], "is no machine of a cluster"),
        (["drain", "10.0.0.1", "--folder", "empty"], "is no machine of a cluster"),
        (["crawl", "http://a.test/", "--folder", "empty"], "is no machine of a cluster"),
    ],
)
def test_mistakes_end_in_one_sentence(
    command: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machines, "need_ray", lambda: None)
    assert run(["cluster", *command]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_token_is_made_once_and_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "new" / "token"
    machines.make_token(path)
    before = path.read_text()
    machines.make_token(path)
    assert path.read_text() == before
    assert len(before) >= 32
    assert path.stat().st_mode & 0o077 == 0


def test_tls_files_are_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ca\.crt is missing"):
        Machine("10.0.0.5", "10.0.0.5:1", "token", str(tmp_path)).environment()
    for name in ("ca.crt", "node.crt", "node.key"):
        (tmp_path / name).touch()
    told = Machine("10.0.0.5", "10.0.0.5:1", "token", str(tmp_path)).environment()
    assert told["RAY_USE_TLS"] == "1"
    assert told["RAY_AUTH_MODE"] == "token"


def test_a_process_that_is_gone_does_not_run() -> None:
    assert not machines.is_running(Machine("127.0.0.1", "127.0.0.1:1", "", process=2**22 + 1, started=1))
    assert machines.descendants(2**22 + 1) == []


def test_ray_is_not_imported_before_it_is_needed() -> None:
    assert "ray" not in sys.modules
