"""``fyke doctor``: what a machine lacks is told with its remedy."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from fyke.browser import process
from fyke.cli import machine, run
from tests.json_schemas import schema_of


def checks(words: list[str], capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    status = run(["doctor", *words, "--json"])
    told = json.loads(capfd.readouterr().out)
    jsonschema.validate(told, schema_of("doctor"))
    assert told["good"] == all(check["state"] != "wrong" for check in told["checks"]) == (status == 0)
    return {check["name"]: check for check in told["checks"]}


def test_everything_is_looked_at(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = checks(["--store", str(tmp_path / "not" / "yet")], capfd)
    assert {"python", "cores", "disk", "kernel cache", "network namespaces", "browser", "inotify"} <= found.keys()
    assert str(tmp_path) in found["disk"]["value"]
    assert all(bool(check["remedy"]) == (check["state"] != "good") for check in found.values())
    assert not (tmp_path / "not").exists()


def test_what_is_wrong_has_a_remedy_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "ROOM", 1 << 62)
    monkeypatch.setattr(process, "PROGRAMS", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    found = checks(["--store", str(tmp_path)], capfd)
    assert (found["disk"]["state"], found["browser"]["state"]) == ("wrong", "lacks")
    assert run(["doctor", "--store", str(tmp_path)]) == 1
    out = capfd.readouterr().out
    assert "!!  disk" in out
    assert "--  browser" in out
