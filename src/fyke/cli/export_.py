"""A store as files: WARC, WACZ, WET, TREC Web, or a dataset (JSON lines, Parquet, Arrow), by the ending."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, Yes, confirmed, grouped, needs, print_json
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.store.exports.dataset import Dataset
    from fyke.store.exports.warc import WarcOptions
    from fyke.store.where import Where

app = typer.Typer(rich_markup_mode=None, add_completion=False)

STDOUT = "-"
Several = list[str] | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows."""

    host: Annotated[Several, typer.Option(help="Only this host; repeatable.")] = None
    prefix: Annotated[Several, typer.Option(help="Only URLs that begin so; repeatable.")] = None
    status: Annotated[Several, typer.Option(help="Only these, as 200, 404 or 4xx, with text or not.")] = None
    type_: Annotated[Several, typer.Option("--type", help="Only this media type, as text/html or text/*.")] = None
    language: Annotated[Several, typer.Option(help="Only this language, as en.")] = None
    since: Annotated[str, typer.Option(metavar="TIME", help="Only what was fetched then or later.")] = ""
    until: Annotated[str, typer.Option(metavar="TIME", help="Only what was fetched before.")] = ""
    no_duplicates: Annotated[bool, typer.Option("--no-duplicates", help="No copies of others.")] = False
    keep_noindex: Annotated[bool, typer.Option("--keep-noindex", help="Pages that say noindex, too.")] = False
    everything: Annotated[bool, typer.Option("--all", help="Every row: redirects, errors, without text.")] = False
    private: Annotated[bool, typer.Option("--private", help="Rows behind a login, too.")] = False

    def where(self, private: bool) -> Where:
        """Return the choice; ``private`` has been asked for."""
        from fyke.store.where import Where

        return Where(
            status=tuple(several(self.status)),
            type=tuple(several(self.type_)),
            language=tuple(several(self.language)),
            since=moment(self.since),
            until=moment(self.until),
            host=tuple(self.host or ()),
            prefix=tuple(self.prefix or ()),
            duplicates=not self.no_duplicates,
            everything=self.everything,
            keep_noindex=self.keep_noindex,
            private=private,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """What a row of a dataset has."""

    text: Annotated[str, typer.Option(metavar="KIND", help="The text: main, whole or markdown.")] = "main"
    schema: Annotated[str, typer.Option(help="The columns: fyke, fineweb or cc-index.")] = "fyke"
    columns: Annotated[Several, typer.Option(help="Only these columns, as url,title,text.")] = None
    raw: Annotated[bool, typer.Option("--raw", help="A column with the bodies, too.")] = False


@dataclass(frozen=True, slots=True)
class About:
    """What a WARC file says of itself."""

    operator: Annotated[str, typer.Option(help="Of WARC: who made it, with an address.")] = ""
    is_part_of: Annotated[str, typer.Option(help="Of WARC: the collection that it is a part of.")] = ""


@app.command()
@grouped
def export(
    out: Annotated[
        str,
        typer.Argument(metavar="OUT", help=".warc.gz .wacz .wet.gz .trec.gz .jsonl.zst .parquet; - for stdout."),
    ],
    *,
    store: StorePath = Path("fyke-store"),
    format_: Annotated[
        str, typer.Option("--format", help="The format, where OUT has no ending: warc.gz, jsonl …")
    ] = "",
    rows: Rows,
    table: Table,
    shard_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Files of this size: 1GB. OUT is a folder, of WARC a name.")
    ] = "",
    about: About,
    changes_since: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Only what changed since that export; 0 to begin.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Write a store to a file, by its ending. WARC has every capture; datasets have documents.

    A document is a row with status 200 and text that does not say noindex.

    Example: fyke export pages.parquet --store fish --language en --no-duplicates
    """
    from fyke.store.exporting import ending_of
    from fyke.store.exports.dataset import FORMATS, Dataset, kind_of

    where = rows.where(rows.private or _may_leave(store, yes))
    path = None if out == STDOUT else Path(out)
    kind = format_.lstrip(".") or (kind_of(path) if path is not None else "")
    if format_ and kind not in FORMATS:
        ending_of("." + kind)
    if path is None and not kind:
        raise UserError(f"stdout has no ending; say what to write with --format {'|'.join(FORMATS)}")
    if kind not in FORMATS:
        if changes_since is not None:
            raise UserError("--changes-since is for datasets; name a .jsonl or .parquet file")
        from fyke.store.exports.warc import WarcOptions

        options = WarcOptions(_size(shard_size), _about(store, about.operator, about.is_part_of))
        _export_archive(path, kind, store, where, options, json)
        return
    if kind == "parquet":
        needs("pyarrow", "parquet", "Parquet")
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own keeps 10 MB more
    dataset = Dataset.of(several(table.columns), where, schema=table.schema, text=table.text, raw=table.raw)
    facts = _export_dataset(path, kind, store, dataset, _size(shard_size), changes_since)
    _tell(facts, path, json)


def _may_leave(store: Path, yes: bool) -> bool:
    """Whether the rows of local files may leave their store: of such a store the user is asked."""
    from fyke.desktop.plan import is_desktop

    if not is_desktop(store):
        return False
    if not confirmed(f"{store} holds local files, which nobody else can read there. Export them?", yes):
        raise typer.Exit(1)
    return True


def _export_dataset(
    path: Path | None, kind: str, store: Path, dataset: Dataset, shard: int, since: str | None
) -> dict[str, Any]:
    from fyke.cli.progress import bar
    from fyke.store.exports.changes import Changes
    from fyke.store.exports.dataset import rows_of, write_dataset
    from fyke.workers.rows import Store

    with Store.open(store, mode="r") as opened:
        derived = opened.derived()
        chosen = dataset.where.host or dataset.where.prefix
        total = None if chosen else sum(stats.rows for stats in opened.hosts())
        with bar(f"export {path.name if path is not None else kind}", total, "rows") as progress:
            if since is None:
                rows = rows_of(dataset, opened, derived, progress)
                count, size = write_dataset(rows, list(dataset.columns), path, kind, shard)
                return {"file": str(path or STDOUT), "documents": count, "bytes": size}
            with Changes(opened, dataset, derived, since) as changes:
                _, size = write_dataset(changes.rows(progress), changes.columns, path, kind, shard)
                return {
                    "file": str(path or STDOUT), "documents": changes.upserts, "bytes": size,
                    "upserts": changes.upserts, "deletes": changes.deletes, "cursor": changes.commit(),
                }  # fmt: skip


def _tell(facts: dict[str, Any], path: Path | None, json: bool) -> None:
    """Say what was written; on stderr where stdout is the dataset."""
    if json and path is not None:
        print_json(facts)
        return
    said = f"{facts['file']}: {facts['documents']:,} documents, {facts['bytes']:,} bytes"
    if "cursor" in facts:
        said += f", {facts['deletes']:,} deleted; next: --changes-since {facts['cursor']}"
    echo(said if not json else _as_json(facts), err=path is None)


def _as_json(facts: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(facts).decode()


def _export_archive(path: Path | None, kind: str, store: Path, where: Where, warc: WarcOptions, json: bool) -> None:
    from dataclasses import replace

    from fyke.cli.progress import bar
    from fyke.store.exporting import ending_of, parts_needed, stream
    from fyke.store.exporting import export as write
    from fyke.workers.rows import Store

    name = path.name if path is not None else f"fyke.{kind}"
    # WARC has every capture, TREC the documents, with text or not.
    archive = ending_of(name).startswith((".warc", ".wacz"))
    where = replace(where, needs_text=False, everything=where.everything or archive)
    with Store.open(store, mode="r") as opened:
        total = sum(stats.rows for stats in opened.hosts()) if not where.prefix and not where.host else None
        with bar(f"export {name}", total, "rows") as progress:
            rows = where.rows(opened, parts_needed(Path(name)), opened.derived().signals, progress)
            if path is None:
                count = stream(iter(rows), sys.stdout.buffer, name, warc)
                sys.stdout.buffer.flush()
            else:
                count = write(rows, path, warc=warc)
    _tell({"file": str(path or STDOUT), "documents": count, "bytes": _written(path, warc)}, path, json)


def _written(path: Path | None, warc: WarcOptions) -> int:
    """Bytes of what was written to a file, or to those that follow one another."""
    if path is None:
        return 0
    base, dot, ending = path.name.rpartition(".warc")
    if not warc.max_size or not dot:
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.parent.glob(f"{base}-[0-9][0-9][0-9][0-9][0-9].warc{ending}"))


def _about(store: Path, operator: str, part_of: str) -> tuple[tuple[str, str], ...]:
    """What a warcinfo record says of the crawl and of who made it."""
    from fyke.crawl.run import plan

    crawled = plan.read(store)
    said = [("operator", operator), ("isPartOf", part_of)]
    if crawled is not None:
        said.append(("http-header-user-agent", crawled.settings.agent))
        said.append(("robots", "ignore" if crawled.settings.no_robots else "obey"))
    return tuple((name, value) for name, value in said if value)


def several(given: Several) -> list[str]:
    """What was given once or more, or with commas between."""
    return [part.strip() for each in given or () for part in each.split(",") if part.strip()]


def moment(text: str) -> float | None:
    """A time that was given, in seconds since 1970."""
    from fyke.cli.get_ import parse_time

    return parse_time(text).timestamp() if text else None


def _size(text: str) -> int:
    from fyke.units import parse_size

    return max(1, parse_size(text)) if text else 0
