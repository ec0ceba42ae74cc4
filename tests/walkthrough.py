"""Runs what the documentation tells its reader to type, on a small world, and writes the answers into the pages.

A block ```` ```console ```` holds commands (``$ fyke …``) and what they answered. ``make tour`` runs them in order, a
folder for each page, and writes the answers anew; tests/test_walkthrough.py runs them too and judges. A block whose
first line ends in ``file=NAME`` is that file. A page that speaks of ``example.org`` has it played by a host of the
world, and ``$ fyke crawl`` gets the world's settings.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import fyke
from fyke import assemble, streaming
from fyke.crawl.revisit import freshness
from fyke.crawl.run.summary import Summary
from fyke.reading.page import Page
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve
from tests.commands import Said
from tests.commands import fyke as fyke_here

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "docs" / "tour.md", *sorted((ROOT / "docs" / "howto").glob("*-*.md"))]
WORLD = WorldConfig(seed=7, hosts=7, pages=300, slow=False, flaky=False, robots=True)
"""What the tour's reader serves: fyke world --seed 7 --hosts 7 --pages 300 --no-slow --no-flaky --port 8090."""
PORT = 8090
STAND_IN = "https://example.org/"
UNREAD = ("fyke world", "fyke demo", "fyke warm", "fyke doctor", "fyke dashboard", "fyke render", "fyke cluster")
"""Commands that are shown and not run, since tests/cli run them, or they depend on the machine, or are the stage."""
SECONDS = 15.0
"""From the first note of its freshness until a continuous crawl is stopped as by Ctrl-C."""
LONGEST = 30
"""Lines of an answer that a page shows."""

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^```[a-z]+ file=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stage:
    """A world that is served, and a folder to work in."""

    served: Served
    folder: Path
    delay: float = 0.01
    """Between contacts of a host."""

    def words(self, command: str) -> list[str]:
        """The words of a command as they are run: the stand-in replaced, a crawl told where the world is."""
        words = shlex.split(self.played(command))
        if words[:2] == ["fyke", "crawl"]:
            own = words.index("--config") + 1 if "--config" in words else 0
            told = (self.folder / "web" / "crawl.toml").read_text(encoding="utf-8")
            if own and words[own] != "web/crawl.toml":
                told += (self.folder / words[own]).read_text(encoding="utf-8")
            told = told.replace("delay = 0.01", f"delay = {self.delay}")
            (self.folder / "web" / "told.toml").write_text(told, encoding="utf-8")
            words = [word for i, word in enumerate(words) if not own or i not in (own - 1, own)]
            words += ["--config", "web/told.toml"]
        if words[:2] == ["fyke", "crawl"] and "--agents" not in words:
            words += ["--agents", "1"]
        return words

    def played(self, text: str) -> str:
        """``text`` with the world's addresses."""
        home = self.served.world.seeds[0]
        host = self.served.world.hosts[0].name
        return text.replace(STAND_IN, home).replace("example.org", host).replace(f":{PORT}", f":{self.served.port}")

    def write(self, text: str) -> None:
        """Write the files of a page into the folder."""
        for name, content in _FILE.findall(text):
            (self.folder / name).write_text(self.played(content), encoding="utf-8")

    def run(self, command: str, *more: str) -> Said:
        """Run a command as a user does, in a process of its own."""
        words = [*self.words(command), *more]
        if words[0] == "fyke":
            words[:1] = [sys.executable, "-m", "fyke"]
        started = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "COLUMNS": "110", "NO_COLOR": "1"},
        )  # fmt: skip
        with self.stopping(words, SECONDS, started.pid):
            output, errors = started.communicate(timeout=800)
        return Said(started.returncode, output, errors)

    def call(self, command: str, *more: str) -> Said:
        """Run a command in this process: quicker, for tests; not one that makes its process quiet for good."""
        words = [*self.words(command), *more]
        assert words[0] == "fyke", command
        if words[1] == "desktop":
            return self.run(command, *more)
        ended = self.stopping(words, 0.0, os.getpid())
        with contextlib.chdir(self.folder), ended:
            return fyke_here(*words[1:])

    @contextlib.contextmanager
    def stopping(self, words: list[str], seconds: float, process: int) -> Iterator[None]:
        """End what does not end by itself: a Ctrl-C, ``seconds`` after a continuous crawl noted its freshness."""
        over = threading.Event()

        def watch(log: Path) -> None:
            before = _size(log)
            while _size(log) == before:
                if over.wait(0.05):
                    return
            if not over.wait(seconds):
                os.kill(process, signal.SIGINT)

        watcher = None
        if "--continuous" in words:
            log = self.folder / words[words.index("--store") + 1] / freshness.FILE
            watcher = threading.Thread(target=watch, args=(log,))
            watcher.start()
        try:
            yield
        finally:
            over.set()
            if watcher is not None:
                watcher.join()

    def execute(self, program: str) -> None:
        """Run a Python program of a page in this process; ``fyke.crawl`` goes to the world."""
        crawl = assemble.crawl
        world: dict[str, Any] = {
            "agents": 1,
            "delay": self.delay,
            "patience": 2.0,
            "allow_private": True,
            "resolve": tuple(self.served.resolve()),
        }

        def crawled(seeds: list[str], **options: Any) -> Summary:
            summary = crawl(seeds, **{**world, **options})
            assert summary.pages, summary
            return summary

        def paged(seeds: list[str], **options: Any) -> Iterator[Page]:
            return streaming.pages(seeds, **{**world, **options})

        sys.path.insert(0, str(self.folder))
        try:
            with (
                mock.patch.dict(vars(fyke), {"crawl": crawled, "pages": paged}),
                contextlib.chdir(self.folder),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                exec(compile(self.played(program), "page", "exec"), {"__name__": "page"})
        finally:
            sys.path.remove(str(self.folder))


def stage(served: Served, folder: Path, delay: float = 0.01) -> Stage:
    """Write the seeds and settings of the world that is served into ``folder``."""
    served.write(folder / "web")
    return Stage(served, folder, delay)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The commands and programs of a page, in order: (``console`` or ``python``, what)."""
    for language, block in _BLOCK.findall(text):
        if language == "python":
            yield language, block
        else:
            yield from ((language, line[2:]) for line in block.splitlines() if line.startswith("$ "))


def unread(command: str) -> bool:
    """Whether a command is for reading only."""
    return any(word in command for word in UNREAD)


def drawn(text: str, on: Stage) -> str:
    """A page with every answer written anew."""
    typed = "".join([content for _, content in _FILE.findall(text)] + [command for _, command in steps(text)])
    stand_in = STAND_IN in typed  # in an answer it is an example

    def block(match: re.Match[str]) -> str:
        lines = []
        for language, command in steps(match[0]):
            if language == "python":
                on.execute(command)
                return match[0]
            lines.append(f"$ {command}")
            if unread(command):
                continue
            answer = on.run(command)
            if answer.returncode != 0:
                sys.exit(f"status {answer.returncode}: {command}\n{answer.stderr}")
            said = on_page(answer.stdout if answer.stdout.strip() else answer.stderr, on, stand_in)
            lines += said[:LONGEST] + (["…"] if len(said) > LONGEST else [])
        return "```console\n" + "\n".join(lines) + "\n```"

    on.write(text)
    return _BLOCK.sub(block, text)


def on_page(output: str, on: Stage, stand_in: bool) -> list[str]:
    """An answer as a page shows it: no folder of this machine, no line wider than a page."""
    text = output.replace(f":{on.served.port}", f":{PORT}").replace(str(on.folder) + "/", "")
    if stand_in:
        host = on.served.world.hosts[0].name
        text = text.replace(f"http://{host}:{PORT}/", STAND_IN).replace(host, "example.org")
    return [line.rstrip() if len(line) <= 150 else line[:149] + "…" for line in text.rstrip("\n").split("\n")]


def main() -> None:
    """``python -m tests.walkthrough [PAGE...]``."""
    import tempfile

    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory(prefix="fyke-walk-") as folder, serve(WORLD, PORT) as served:
            text = drawn(page.read_text(encoding="utf-8"), stage(served, Path(folder)))
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
