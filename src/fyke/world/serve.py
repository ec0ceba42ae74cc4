"""Starting a world's server in a process of its own, and ending it whatever happens."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fyke.errors import FykeError
from fyke.outputs import making
from fyke.spawning import python
from fyke.world.config import WorldConfig
from fyke.world.server import CONTROL, Settings
from fyke.world.transport import ADDRESS, Visit
from fyke.world.world import World

PATIENCE = 10.0
"""Seconds that the process may take to end before it is killed."""

_OURS = "delay = 0.01  # it is a web of our own"
"""The first line of a crawl.toml that ``write`` made."""


def _own_files(folder: Path) -> frozenset[str]:
    try:
        with (folder / "crawl.toml").open("rb") as file:
            ours = file.read(len(_OURS)) == _OURS.encode()
    except OSError:
        ours = False
    return frozenset({"seeds.txt", "crawl.toml"}) if ours else frozenset()


class Served:
    """A world that is being served on ``address``; ``world`` is its truth."""

    def __init__(self, world: World, port: int, process: int) -> None:
        self.world = world
        self.port = port
        self.process = process
        """The id of the server's process."""
        self.address = f"{ADDRESS}:{port}"

    def resolve(self) -> list[str]:
        """``HOST:ADDRESS`` for every host: what ``fyke crawl --resolve`` takes."""
        names = [host.name for host in self.world.hosts] + [each.name for each in self.world.catalogues]
        return [f"{name}:{ADDRESS}" for name in names]

    def write(self, folder: Path) -> None:
        """Write seeds.txt and crawl.toml into ``folder``: ``fyke crawl @DIR/seeds.txt --config DIR/crawl.toml``."""
        seeds = "".join(f"{seed}\n" for seed in self.world.seeds)
        hosts = "".join(f'  "{line}",\n' for line in self.resolve())
        settings = f"{_OURS}\nallow_private = true\npatience = 2.0\nresolve = [\n{hosts}]\n"
        with making(folder, "folder of a world", _own_files) as new:
            (new / "seeds.txt").write_text(seeds, encoding="utf-8")
            (new / "crawl.toml").write_text(settings, encoding="utf-8")

    def log(self) -> list[Visit]:
        """The requests served since the last call, in the order in which they ended; times are the system's."""
        return msgspec.json.decode(self._ask("/log"), type=list[Visit])

    def time(self) -> float:
        """The world's time."""
        return float(self._ask("/now"))

    def set_time(self, t: float) -> None:
        """Stop the world's time at ``t``."""
        self._ask(f"/time?{t!r}")

    def _ask(self, target: str) -> bytes:
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=PATIENCE)
        try:
            connection.request("GET", target, headers={"Host": CONTROL})
            return connection.getresponse().read()
        finally:
            connection.close()


@contextlib.contextmanager
def serve(config: WorldConfig | None = None, port: int = 0, speed: float = 1.0) -> Iterator[Served]:
    """Serve a world on loopback while the block lasts. ``speed``: world seconds for each second."""
    config = config or WorldConfig()
    settings = msgspec.json.encode(Settings(config, port, speed)).decode()
    process = subprocess.Popen(  # noqa: S603 - this very Python, settings of our own
        python("fyke.world.server", settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is the parent's, which ends the server in its own time
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise FykeError(f"the world's server did not start on port {port}; is the port taken? try another")
        yield Served(World(config, int(line)), int(line), process.pid)
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
