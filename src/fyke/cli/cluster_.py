"""A crawl over many machines, and what is made of it there; try shows it on this one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli import cluster_jobs
from fyke.cli.common import QUIET
from fyke.cli.echo import echo, note, show
from fyke.cli.options import Json, Yes, flags, print_json
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.cluster.head import Overview
    from fyke.cluster.machine import Machine

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="A crawl over many machines: Ray connects them, a depot holds the crawl (pip install 'fyke[cluster]').\n\n"
    "Example: fyke cluster try",
)

Folder = Annotated[Path, typer.Option(metavar="DIR", help="This machine's folder: its working copies, log and token.")]
Address = Annotated[str, typer.Option(metavar="IP", help="The address by which the others reach this machine.")]
Tls = Annotated[Path | None, typer.Option(metavar="DIR", help="A folder with ca.crt, node.crt and node.key.")]
Token = Annotated[Path | None, typer.Option(metavar="FILE", help="The cluster's token; `up` makes one.")]
Block = Annotated[bool, typer.Option("--block", help="Stay until it ends: for systemd and containers.")]
_HERE = Path("fyke-node")


@app.command()
def up(
    address: Address = "127.0.0.2",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The head's port.")] = 6379,
    folder: Folder = _HERE,
    token: Token = None,
    tls: Tls = None,
    block: Block = False,
    json: Json = False,
) -> None:
    """Make this machine the head of a cluster, and print how others join.

    Example: fyke cluster up --address 10.0.0.5 --token token --tls certs
    """
    from fyke.cluster import machine as machines

    machines.need_ray()
    machines.check(address, str(token or ""), str(tls or ""))
    file = (token or folder / "token").absolute()
    machines.make_token(file)
    head = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    wanted = machines.Machine(address, head, str(file), _whole(tls), str(folder.absolute()))
    _start(wanted, block, json, f"join others with: fyke cluster join {head} --address IP --token {file}{_with(tls)}")


@app.command()
def join(
    head: Annotated[str, typer.Argument(metavar="IP:PORT", help="The head, as `fyke cluster up` printed it.")],
    address: Address = "127.0.0.3",
    folder: Folder = _HERE,
    token: Token = None,
    tls: Tls = None,
    block: Block = False,
    json: Json = False,
) -> None:
    """Let this machine join a cluster; a crawl that is under way gives it its share.

    Example: fyke cluster join 10.0.0.5:6379 --address 10.0.0.6 --token token --tls certs
    """
    from fyke.cluster import machine as machines

    machines.need_ray()
    machines.check(address, str(token or ""), str(tls or ""))
    if token is None or not token.is_file():
        raise UserError(f"the token {token or ''} is not here; copy the file that `fyke cluster up` made, and name it")
    host, _, port = head.rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"{head!r} is no IP:PORT; give it as `fyke cluster up` printed it")
    wanted = machines.Machine(address, head, str(token.absolute()), _whole(tls), str(folder.absolute()))
    if wanted.is_head:
        raise UserError(f"{address} is the head's own address; give this machine's with --address")
    _start(wanted, block, json, f"{address} has joined {head}")


def _whole(tls: Path | None) -> str:
    return str(tls.absolute()) if tls is not None else ""


def _with(tls: Path | None) -> str:
    return f" --tls {tls}" if tls is not None else ""


def _start(wanted: Machine, block: bool, json: bool, said: str) -> None:
    from fyke.cluster import machine as machines
    from fyke.crawl.run.runtime import Signals

    started, process = machines.start(wanted)
    if json:
        print_json(started)
    else:
        echo(said)
    if block:
        with Signals(lambda number: process.terminate()):
            status = process.wait()
        machines.stop(started)
        if status not in (0, 1, -15):  # Ray says 1 where it was told to end
            raise typer.Exit(1)


@app.command()
@flags(CrawlSettings, lists=("seeds",))
def crawl(
    seeds: Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="As those of `fyke crawl`.")] = None,
    folder: Folder = _HERE,
    tablets: Annotated[int, typer.Option(min=1, help="Of a new depot: about 16 for each machine ever.")] = 64,
    yes: Yes = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)] = False,
    json: Json = False,
    *,
    settings: CrawlSettings,
) -> None:
    """Crawl on all machines of the cluster into a depot; Ctrl-C stops cleanly, and the same command goes on.

    Example: fyke cluster crawl @seeds.txt --depot s3://corp/crawl
    """
    from fyke.cli.crawl_ import confirm, describe, read_seeds
    from fyke.cli.display import Display
    from fyke.cluster import crawl as crawls
    from fyke.cluster import machine as machines
    from fyke.cluster.view import NAME

    machines.need_ray()
    confirm(settings, yes)
    machine = machines.read(folder)
    job = crawls.job_of(read_seeds(seeds or []), settings, tablets=tablets)
    with machines.connected(machine) as actors, Display(shown=not quiet) as display:

        def show(overview: Overview) -> None:
            display.show(overview.status)
            for event in overview.events if not quiet else ():
                echo(f"fyke: {event.what}", err=True)

        if not quiet:
            note(f"`fyke control` and `fyke dashboard` reach all machines with --store {folder / NAME}")
        summary = crawls.crawl(job, actors, show, folder)
    if json:
        print_json(summary)
    elif not quiet or summary.status:
        said = describe(summary, Path("STORE")).replace("fyke resume --store STORE", "the same command")
        echo(f"{said}\n`fyke store fetch {job.depot} DIR` makes a store of it", err=quiet)
    if summary.status:
        raise typer.Exit(summary.status)


@app.command()
def status(folder: Folder = _HERE, json: Json = False) -> None:
    """The machines of the cluster, and what the crawl on them is doing.

    Example: fyke cluster status
    """
    from fyke.cli.display import table
    from fyke.cluster import machine as machines

    with machines.connected(machines.read(folder)) as actors:
        addresses = sorted(actors.machines().values())
        head = actors.find_head()
        overview = actors.call(head.overview) if head is not None else None
    if json:
        told = dataclasses.asdict(overview) if overview is not None else None
        print_json({"machines": addresses, "crawl": told})
        return
    for address in addresses:
        node = overview.nodes.get(address, {}) if overview is not None else {}
        echo(f"{address}  {_describe(node)}")
    if overview is None:
        echo("no crawl is under way")
    else:
        show(table(overview.status))


def _describe(node: dict[str, object]) -> str:
    if not node:
        return "no tablets"
    state = node["trouble"] or ("at work" if node["ready"] else "moving tablets")
    return f"{node['tablets']} tablets, {node['pages']:,} pages, {state}"


@app.command()
def drain(
    node: Annotated[str, typer.Argument(metavar="NODE", help="The address of a machine.")],
    folder: Folder = _HERE,
    json: Json = False,
) -> None:
    """Give the tablets of a machine to the others, so that it may be stopped without a pause.

    Example: fyke cluster drain 10.0.0.6
    """
    import time

    from fyke.cluster import machine as machines

    with machines.connected(machines.read(folder)) as actors:
        head = actors.find_head()
        if head is None:
            raise UserError("no crawl is under way: any machine may be stopped")
        if not actors.call(head.drain, node):
            raise UserError(f"{node} is no machine of the crawl; `fyke cluster status` lists them")
        while (told := actors.call(head.overview).nodes.get(node)) is not None and (
            told["tablets"] or not told["ready"]
        ):
            time.sleep(0.5)
    if json:
        print_json({"node": node, "tablets": 0})
    else:
        echo(f"{node} holds no tablets any more")


@app.command()
def down(folder: Folder = _HERE, json: Json = False) -> None:
    """End what `up` or `join` started on this machine; without the head the others end too.

    Example: fyke cluster down
    """
    from fyke.cluster import machine as machines

    machine = machines.read(folder)
    ran = machines.stop(machine)
    (folder / machines.NAME).unlink(missing_ok=True)
    if json:
        print_json({"address": machine.address, "was_running": ran})
    else:
        echo(f"{machine.address} has ended" if ran else f"nothing ran on {machine.address}")


for _job in (cluster_jobs.export, cluster_jobs.archive, cluster_jobs.dedupe, cluster_jobs.rank):
    app.command()(_job)


@app.command("try")
def try_(
    number: Annotated[int, typer.Option("--machines", min=2, max=9, help="Machines, all of them on loopback.")] = 3,
    kill: Annotated[bool, typer.Option("--kill/--no-kill", help="End a machine at once in mid-crawl.")] = True,
    json: Json = False,
) -> None:
    """Show it on this machine: crawl a small web with several, kill one, watch the others take over.

    Example: fyke cluster try --machines 3
    """
    from fyke.cli.cluster_try import Story
    from fyke.cluster import machine as machines

    machines.need_ray()
    found = Story(number, kill, lambda said: echo(said, err=json)).tell()
    if json:
        print_json(found)
    if not found["complete"]:
        raise typer.Exit(1)
