"""Near-duplicates of a collection: pairs and clusters, by MinHash, simhash, fingerprints or digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.common import by_default
from fyke.cli.echo import echo, note
from fyke.cli.options import Json, drawing, grouped, needs_parquet, print_json
from fyke.cli.progress import stages
from fyke.errors import UserError
from fyke.outputs import refuse_input, replacing
from fyke.units import parse_size

if TYPE_CHECKING:
    from fyke.dedupe.methods import Settings
    from fyke.dedupe.spool import Progress


app = typer.Typer(cls=by_default("find"), rich_markup_mode=None, add_completion=False, no_args_is_help=True)


class Method(StrEnum):
    """What ``--method`` takes."""

    minhash = "minhash"
    simhash = "simhash"
    fingerprint = "fingerprint"
    exact = "exact"


class Checks(StrEnum):
    """What ``--check`` takes."""

    jaccard = "jaccard"
    containment = "containment"
    cosine = "cosine"
    words = "words"
    edit = "edit"


class Clusters(StrEnum):
    """What ``--cluster`` takes."""

    linked = "linked"
    star = "star"


class Representatives(StrEnum):
    """What ``--representative`` takes."""

    oldest = "oldest"
    longest = "longest"
    best_linked = "best-linked"


@app.callback()
def _dedupe() -> None:
    """Find the near-duplicates of a collection: a store, a folder of files, JSON lines, Parquet or WARC.

    `fyke dedupe INPUT...` is `fyke dedupe find INPUT...`.

    Example: fyke dedupe articles/ --threshold 0.8 --json
    """


@dataclass(frozen=True, slots=True)
class Search:
    """How to look."""

    threshold: Annotated[float, typer.Option(help="Least similarity of a pair.", min=0.05, max=1.0)] = 0.8
    method: Annotated[Method, typer.Option(help="How candidates are found.")] = Method.minhash
    check: Annotated[
        Checks | None, typer.Option(help="What decides about a candidate [default: jaccard of minhash, else none].")
    ] = None
    distance: Annotated[
        int | None, typer.Option(help="Bits in which simhashes may differ [default: 3].", min=0, max=16)
    ] = None
    cluster: Annotated[Clusters, typer.Option(help="Chains of pairs, or only what is near its centre.")] = (
        Clusters.linked
    )
    representative: Annotated[Representatives, typer.Option(help="Which member stands for a cluster.")] = (
        Representatives.oldest
    )
    against: Annotated[
        Path | None, typer.Option(help="Report only copies of what is in this collection, or folder of sketches.")
    ] = None
    ngram: Annotated[int, typer.Option(help="Words in a shingle.", min=1, max=100)] = 5
    num_perm: Annotated[int, typer.Option(help="Permutations of a MinHash signature.", min=8, max=1024)] = 192
    keep_case: Annotated[bool, typer.Option("--keep-case", help="Tell A from a.")] = False
    fold_accents: Annotated[bool, typer.Option("--fold-accents", help="Take é for e.")] = False
    memory: Annotated[str, typer.Option(help="Memory to keep to.")] = "2GB"
    scratch: Annotated[Path | None, typer.Option(help="Folder for scratch files.")] = None

    def settings(self) -> Settings:
        """Return these choices for the room. Raises ``UserError`` where one does not apply to the method."""
        from fyke.dedupe.methods import Settings
        from fyke.dedupe.sketch import Parameters
        from fyke.text.characters import Folding

        if self.distance is not None and self.method is not Method.simhash:
            raise UserError(f"--distance is of simhashes; {self.method} has none: add --method simhash")
        if self.check is not None and self.method is Method.exact:
            raise UserError("--check does not apply to --method exact: equal bytes need no second look")
        return Settings(
            threshold=self.threshold,
            method=self.method.value,
            check=self.check.value if self.check is not None else None,
            distance=3 if self.distance is None else self.distance,
            cluster=self.cluster.value,
            representative=self.representative.value,
            parameters=Parameters(self.ngram, self.num_perm, folding=Folding(not self.keep_case, self.fold_accents)),
            memory=parse_size(self.memory),
            scratch=str(self.scratch) if self.scratch else None,
        )


@dataclass(frozen=True, slots=True)
class Targets:
    """What to write, and where."""

    output: Annotated[Path | None, typer.Option(help="Write pairs to this .jsonl or .parquet file.")] = None
    clusters: Annotated[Path | None, typer.Option(help="Write clusters to this .jsonl or .parquet file.")] = None
    write: Annotated[Path | None, typer.Option(help="Write what is kept to this .jsonl[.gz|.zst] or .parquet.")] = None
    paragraphs: Annotated[bool, typer.Option("--paragraphs", help="Count, and mark with --write, repeated ones.")] = (
        False
    )
    save: Annotated[Path | None, typer.Option(help="Save sketches in this folder; append where it exists.")] = None

    def check(self, inputs: list[Path]) -> None:
        """Raise ``UserError`` before the work begins where something could not be written."""
        from fyke.cli.dedupe_write import refuse_ending

        check_outputs(self.output, self.clusters)
        for target in (self.output, self.clusters, self.write):
            refuse_input(target, *inputs)
        refuse_ending(self.write)
        needs_parquet(self.write, *inputs)


@app.command()
@grouped
def find(
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT...", help="Stores, folders, .jsonl, .parquet, WARC.")],
    search: Search,
    targets: Targets,
    id_field: Annotated[str, typer.Option(help="Field of the id [default: id, url, name or path].")] = "",
    text_field: Annotated[str, typer.Option(help="Field of the text [default: text, content or body].")] = "",
    json: Json = False,
) -> None:
    """Find near-duplicate pairs and clusters.

    Example: fyke dedupe articles/ --threshold 0.8 --json
    """
    from fyke.cli.dedupe_write import write_kept
    from fyke.cli.inputs import documents
    from fyke.dedupe import methods
    from fyke.dedupe.paragraphs import Paragraphs

    settings, against = search.settings(), search.against
    targets.check([*inputs, *([against] if against is not None else [])])
    raw = search.method is Method.exact
    skipped: Counter[str] = Counter()
    source = documents(inputs, id_field, text_field, raw=raw, skipped=skipped)
    lines = Paragraphs() if targets.paragraphs and not raw else None
    if lines is not None:
        source = lines.watch(source)
    with _progress() as progress:
        if against is not None and (against / "header.json").exists():
            if targets.save is not None:
                raise UserError("--save is for collections that are compared with texts; leave out --against or --save")
            found = methods.against_sketches(source, against, settings, progress)
        else:
            other = (
                documents([against], id_field, text_field, raw=raw, skipped=skipped) if against is not None else None
            )
            found = methods.find(source, settings, other, targets.save, progress)
    facts: dict[str, object] = {}
    if lines is not None:
        facts |= {"repeated_paragraphs": lines.settle(), "paragraphs": lines.count}
    if targets.write is not None:
        facts |= write_kept(found, documents(inputs, id_field, text_field), targets.write, lines)
    report(found, targets.output, targets.clusters, skipped, json, facts)


@app.command()
def plan(
    p: Annotated[float, typer.Option(help="Chance that a bit (place) of near-duplicates agrees.")] = 0.9,
    q: Annotated[float, typer.Option(help="Chance that a bit of different documents agrees.")] = 0.5,
    bits: Annotated[int, typer.Option(help="Bits of the fingerprint: K·L is at most this.", min=1, max=1024)] = 64,
    k: Annotated[int, typer.Option("--k", help="Bits in a group; with --groups, the errors of these.", min=0)] = 0,
    groups: Annotated[int, typer.Option(help="Groups.", min=0)] = 0,
    max_fn: Annotated[float, typer.Option(help="Wanted: at most this share of near-duplicates missed.")] = 0.05,
    max_fp: Annotated[float, typer.Option(help="Wanted: at most this share of others compared.")] = 0.05,
    plot: Annotated[Path | None, typer.Option(help="Draw the chance to become candidates into this .png.")] = None,
    json: Json = False,
) -> None:
    """Show or choose K and L of locality-sensitive hashing: P(FN) = (1 − p^K)^L, P(FP) = 1 − (1 − q^K)^L.

    Example: fyke dedupe plan --p 0.9 --q 0.5 --k 8 --groups 8
    """
    from fyke.dedupe import plan as plans

    if bool(k) != bool(groups):
        raise UserError("--k and --groups go together; give both, or neither to have them chosen")
    made = plans.plan(p, q, k, groups) if k else plans.suggest(p, q, bits, max_fn, max_fp)
    if plot is not None:
        with drawing(plot):
            _draw(plot, made.k, made.groups, p, q)
    facts = {"k": made.k, "groups": made.groups, "p": p, "q": q}
    facts |= {"false_negative": made.false_negative, "false_positive": made.false_positive}
    if json:
        print_json(facts)
        return
    echo(f"K = {made.k} bits in each of L = {made.groups} groups ({made.k * made.groups} of {bits} bits)")
    echo(f"P(FN) = (1 − {p}^{made.k})^{made.groups} = {made.false_negative:.5f}   near-duplicates missed")
    echo(f"P(FP) = 1 − (1 − {q}^{made.k})^{made.groups} = {made.false_positive:.5f}   others compared in vain")


@app.command()
def merge(
    target: Annotated[Path, typer.Argument(help="Folder of sketches to append to; made if it is missing.")],
    sources: Annotated[list[Path], typer.Argument(help="Folders of sketches.")],
    json: Json = False,
) -> None:
    """Append folders of sketches to one; other parameters are refused.

    Example: fyke dedupe merge all.sketches monday.sketches tuesday.sketches
    """
    from fyke.dedupe.disk import SketchFolder

    folders = [SketchFolder.open(source) for source in sources]
    into = SketchFolder.open(target, folders[0].parameters, create=True)
    for folder in folders:
        into.merge(folder)
    into.close()
    if json:
        print_json({"target": str(target), "documents": into.count})
    else:
        echo(f"{target}: {into.count} sketches")


@contextmanager
def _progress() -> Iterator[Progress]:
    """Documents while reading, then shares of a thousand."""
    with stages() as shown:
        yield lambda what, share: shown(what, share, None) if what == "reading" else shown(what, share * 1000, 1000)


def check_outputs(*targets: Path | None) -> None:
    """Raise ``UserError`` where pairs or clusters cannot be written so."""
    for target in targets:
        if target is not None and target.suffix not in {".jsonl", ".parquet"}:
            raise UserError(f"{target} ends in neither .jsonl nor .parquet; name the format by the ending")
    needs_parquet(*targets)


def report(
    found: Any, output: Path | None, clusters: Path | None, skipped: Counter[str], json: bool, more: dict[str, object]
) -> None:
    """Say what was found, and write it where that is wanted."""
    facts: dict[str, object] = {"documents": found.documents, "pairs": len(found.left), "clusters": len(found.clusters)}
    facts |= more
    facts |= {
        "copies": sum(len(c.members) - 1 for c in found.clusters),
        "pairs_skipped": found.pairs_skipped,
        "skipped": dict(skipped),
    }
    if output is not None:
        _write(output, found.pair_rows())
    if clusters is not None:
        _write(clusters, found.cluster_rows())
    if json:
        if output is None and clusters is None:
            facts |= {"pairs": list(found.pair_rows()), "clusters": list(found.cluster_rows())}
        print_json(facts)
        return
    _tell(found, skipped)
    if "paragraphs" in more:
        echo(f"{more['repeated_paragraphs']:,} of {more['paragraphs']:,} paragraphs stand elsewhere before")
    if "kept" in more:
        echo(f"{more['file']}: {more['kept']:,} documents are kept")


def _tell(found: Any, skipped: Counter[str]) -> None:
    for cluster in found.clusters[:20]:
        # By number: with --against, a copy may have the name of what it is a copy of.
        copies = [found.names[member] for member in cluster.members if member != cluster.representative]
        first = found.names[cluster.representative]
        echo(f"{cluster.id}  {first}  ({len(cluster.members)}, lowest {cluster.lowest:.3f})")
        for copy in copies[:10]:
            echo(f"    {copy}")
        if len(copies) > 10:
            echo(f"    … and {len(copies) - 10} more")
    if len(found.clusters) > 20:
        echo(f"… and {len(found.clusters) - 20} clusters more; see --clusters FILE")
    if not found.clusters:
        for row in list(found.pair_rows())[:20]:
            echo(f"{row['similarity']:.3f}  {row['left']}  {row['right']}")
    if skipped:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in skipped.most_common())
        note(f"{skipped.total():,} without text were left out: {reasons}")
    echo(f"{found.documents} documents, {len(found.left)} pairs, {len(found.clusters)} clusters")


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    import msgspec

    if path.suffix == ".jsonl":
        with replacing(path) as new, new.open("wb") as file:
            for row in rows:
                file.write(msgspec.json.encode(row) + b"\n")
        return
    import pyarrow
    from pyarrow import parquet

    with replacing(path) as new:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), new)


def _draw(path: Path, k: int, groups: int, p: float, q: float) -> None:
    from matplotlib.figure import Figure

    from fyke.dedupe.plan import false_positive

    xs = [i / 200 for i in range(201)]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(xs, [false_positive(x, k, groups) for x in xs], label=f"1 − (1 − s^{k})^{groups}")
    for x, name in ((p, "p"), (q, "q")):
        axes.axvline(x, linestyle=":", color="grey")
        axes.annotate(f"{name} = {x}", (x, 0.02), rotation=90)
    axes.set(xlabel="chance s that one bit agrees", ylabel="chance to become candidates")
    axes.legend()
    figure.savefig(path, dpi=120)
