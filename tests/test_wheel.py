"""The wheel, installed outside the repository: every command is there, and no message names what is not."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import fyke as fyke_
from fyke.cli import COMMANDS
from tests.source import ROOT, modules

pytest.importorskip("hatchling", reason="the wheel is built by hatchling")

_NAMED = re.compile(
    r"(?:docs|tests|bench|requirements|\.\./shared)/[\w./-]+|`make \w+`|\bmake (?:demo|test|bench|train)\b"
)
"""What is in the repository only."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def fyke(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a fresh environment that has the wheel, and sees the libraries of this one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = home / "bin" / "fyke"
    command.write_text(f"#!{home}/bin/python\nfrom fyke.cli import main\nmain()\n")
    command.chmod(0o755)
    return command


def ran(command: Path, *words: str, cwd: Path) -> str:
    """What a program of the environment says, which sees nothing of this one but its libraries."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([command, *words], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command.name} {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


ONE_BY_ONE = """
import contextlib, io, json, sys
from fyke.cli import run

told = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = run(words)
    assert status == 0, (words, out.getvalue())
    told.append(out.getvalue())
print(json.dumps(told))
"""


def said(fyke: Path, *commands: str, cwd: Path) -> list[str]:
    """What each command says; they share one process."""
    words = json.dumps([command.split() for command in commands])
    told = json.loads(ran(fyke.with_name("python"), "-P", "-c", ONE_BY_ONE, words, cwd=cwd))
    assert len(told) == len(commands)
    return list(told)


def test_the_wheel_holds_the_package_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    others = [name for name in names if not name.endswith(".py")]
    about = {name for name in others if ".dist-info/" in name}
    source = Path(fyke_.__file__).parent
    shown = {f"fyke/{path.relative_to(source)}" for part in ("templates", "static") for path in
             (source / "dashboard" / part).iterdir()}  # fmt: skip
    assert shown
    assert set(others) - about == {"fyke/py.typed", "fyke/clean/content.model", *shown}
    assert all(name.startswith("fyke/") for name in set(names) - about)
    assert not [name for name in names if "test" in name.split("/")[-1] or "shared" in name]
    assert {f"fyke/cli/{name}_.py" for name in COMMANDS} <= set(names)


def test_it_is_the_wheel_that_runs(fyke: Path, tmp_path: Path) -> None:
    where = ran(fyke.with_name("python"), "-P", "-c", "import fyke; print(fyke.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(fyke.parent.parent)
    assert ran(fyke, "--version", cwd=tmp_path).startswith("fyke ")
    assert set(COMMANDS) <= set(ran(fyke, "--help", cwd=tmp_path).split())


def test_every_command_helps_and_names_only_what_is_there(fyke: Path, tmp_path: Path) -> None:
    below = []
    for name, own in zip(COMMANDS, said(fyke, *(f"{name} --help" for name in COMMANDS), cwd=tmp_path), strict=True):
        assert "Example: fyke" in own, name
        assert _NAMED.findall(own) == [], name
        listed = own.partition("Commands:")[2]
        below += [f"{name} {line} --help" for line in re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)]
    assert len(below) > 20
    for command, own in zip(below, said(fyke, *below, cwd=tmp_path), strict=True):
        assert _NAMED.findall(own) == [], command


def test_readmes_commands_run(fyke: Path, tmp_path: Path) -> None:
    """Those that need no web: what is in a store, and out of it again."""
    make = "import fyke; s = fyke.Store.open('example'); s.put('https://example.org/', raw=b'<p>hi', text='hi')"
    ran(fyke.with_name("python"), "-P", "-c", f"{make}; s.close()", cwd=tmp_path)
    commands = ["list --store example --limit 10", "get https://example.org/ --store example"]
    commands += [f"export example.{ending} --store example" for ending in ("warc.gz", "jsonl.zst", "trec.gz")]
    listed, got, *_ = said(fyke, *commands, cwd=tmp_path)
    assert "https://example.org/" in listed
    assert "hi" in got


def test_no_message_names_a_file_that_is_not_installed() -> None:
    """Strings that a command may print, that is all but docstrings and what other programs read."""
    for path, tree in modules():
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                assert _NAMED.findall(node.value) == [], f"{path}:{node.lineno}"


def test_what_is_left_out_is_asked_for_in_a_sentence(tmp_path: Path) -> None:
    """Without the extras, options that need one name it before any work is done."""
    (tmp_path / "page.html").write_text("<p>words")
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('matplotlib', 'pyarrow', 'pypdfium2')))\n"
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('matplotlib', 'pyarrow', 'pypdfium2') else real(name, *a)\n"
        "from fyke.cli import run\n"
        "for words in sys.argv[1:]: assert run(words.split()) == 2, words"
    )
    asked = {
        "extract page.html --plot x.png": "plot",
        "dedupe plan --plot x.png": "plot",
        "simulate none --plot x.png": "plot",
        "freshness --plot x.png": "plot",
        "export x.parquet": "parquet",
        "dedupe page.html --output x.parquet": "parquet",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, *asked], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for extra, line in zip(asked.values(), done.stderr.splitlines(), strict=True):  # a line each
        assert f"pip install 'fyke[{extra}]'" in line
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
