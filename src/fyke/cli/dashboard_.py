"""The live page of a crawl on 127.0.0.1: what it does, why it waits, each document with its versions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo, note
from fyke.cli.options import Json, StorePath, needs, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def dashboard(
    store: StorePath = Path("fyke-store"),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of 127.0.0.1; 0: any that is free.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Serve /metrics, too, for Prometheus.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Let the page pause, stop and slow the crawl.")] = False,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the token in this file, made where it is not there.")
    ] = None,
    json: Json = False,
) -> None:
    """Serve the live page of a crawl, or of a store, on 127.0.0.1 until Ctrl-C; it reads, and disturbs no crawl.

    Example: fyke dashboard --store example
    """
    for module in ("starlette", "uvicorn", "jinja2"):
        needs(module, "dashboard", "the dashboard")
    from fyke.dashboard.serve import serve

    def ready(origin: str, token: str) -> None:
        address = f"{origin}?t={token}"
        if json:
            print_json({"url": address, "origin": origin, "token": token})
        else:
            echo(address)
            note("Ctrl-C ends it.")
            if metrics:
                note(f"metrics: {origin}metrics, with the header `Authorization: Bearer {token}`")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serve(store, port, ready, token_file=token_file, control=control, metrics=metrics)
