"""Three small applications, made of tests/browser/apps with real React, Vue and Svelte: built by npm, once."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.little_site import Answer

FRAMEWORKS = ("react", "vue", "svelte")
SOURCES = Path(__file__).parent / "apps"
RECORDS, PAGE = 7, 2
_MOST_SECONDS = 300  # for what npm has to download
WORDS = "A fyke is a long bag net that is kept open by hoops, and fish that swim in do not find out. " * 4


def npm() -> str:
    """The program; where there is none, the test is skipped."""
    own = Path(os.environ.get("FYKE_JUDGES", ROOT / ".venv-judges" / "bin")) / "npm"
    found = str(own) if own.exists() else shutil.which("npm")
    if not found:
        pytest.skip("npm is not here, so React, Vue and Svelte are not either; `make judges` brings it")
    return found


def built(cache: Path) -> Path:
    """The folder of the built applications: from ``cache`` where these very sources were built before."""
    sources = sorted(path for path in SOURCES.rglob("*") if path.is_file())
    said = hashlib.sha256(b"".join(str(path.relative_to(SOURCES)).encode() + path.read_bytes() for path in sources))
    made = cache / said.hexdigest()[:16]
    with (cache / "lock").open("w") as lock:  # of several processes that test one builds, and the others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _build(npm(), made)
    return made


def _build(program: str, made: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fyke-apps-") as folder:
        work = Path(folder, "apps")
        shutil.copytree(SOURCES, work)
        # Nothing that a package brings is run but the compilers themselves.
        words = [program, "ci", "--ignore-scripts", "--no-audit", "--no-fund", f"--cache={folder}/cache",
                 "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]  # fmt: skip
        found = f"{Path(program).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # node is beside npm
        run = partial(subprocess.run, cwd=work, env=os.environ | {"PATH": found}, timeout=_MOST_SECONDS)
        try:
            done = run(words, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("npm does not get React, Vue and Svelte in time")
        if done.returncode:
            why = next(iter((done.stderr or done.stdout).strip().splitlines()), "it says nothing")
            pytest.skip(f"npm cannot get React, Vue and Svelte: {why}")
        run(["node", "build.mjs", f"{folder}/out"], check=True)
        shutil.move(f"{folder}/out", made)


def name(number: int) -> str:
    return f"Net number {number}"


def text(framework: str, number: int) -> str:
    """What only the page of one record says."""
    return f"{WORDS}Of {framework} it is number {number}, no other."


def site(framework: str, folder: Path) -> dict[str, Answer]:
    """What the server of an application says: one shell for every address, scripts, and data.

    The last record is in no list: only the page of the one before it leads there.
    """
    shell = Answer((folder / framework / "index.html").read_bytes())
    listed = [{"id": number, "name": name(number)} for number in range(1, RECORDS)]
    pages = [listed[start : start + PAGE] for start in range(0, len(listed), PAGE)]
    said: dict[str, object] = {
        f"/api/records?page={page}": {"records": records, "more": page < len(pages)}
        for page, records in enumerate(pages, 1)
    }
    for number in range(1, RECORDS + 1):
        related = [number + 1] if number < RECORDS else []
        said[f"/api/record/{number}"] = {
            "id": number, "name": name(number), "text": text(framework, number), "related": related,
        }  # fmt: skip
    answers = {path: Answer(json.dumps(data).encode(), "application/json") for path, data in said.items()}
    shells = ["/", *(f"/?page={page}" for page in range(1, len(pages) + 1)), "/robots.txt"]
    answers |= dict.fromkeys([*shells, *(f"/record/{number}" for number in range(1, RECORDS + 1))], shell)
    for path in (folder / framework / "assets").iterdir():
        answers[f"/assets/{path.name}"] = Answer(path.read_bytes(), "text/javascript")
    return answers
