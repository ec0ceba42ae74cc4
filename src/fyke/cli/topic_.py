"""Topics for focused crawls: train a model from examples, words and patterns; test it on a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json
from fyke.errors import StorageError, UserError

if TYPE_CHECKING:
    from fyke.topic.model import PageModel

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

ModelFile = Annotated[Path, typer.Option("--model", metavar="FILE", help="A model that `fyke topic train` made.")]
FromStore = Annotated[Path | None, typer.Option("--store", metavar="DIR", help="A store to look for pages in.")]


@app.callback()
def _group() -> None:
    """Make topics for focused crawls, and try them on pages.

    Example: fyke topic train sailing.toml
    """


@app.command()
def train(
    topic: Annotated[Path, typer.Argument(metavar="TOPIC", help="A topic file, or a folder of example pages.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The model; default: TOPIC with .model.")] = None,
    store: FromStore = None,
    negatives: Annotated[int, typer.Option(min=0, help="Pages drawn where no irrelevant ones are given.")] = 300,
    json: Json = False,
) -> None:
    """Train a model, and say how well it tells the topic by cross-validation.

    A topic file is TOML; each line may be left out, but not all: name = "sailing", words = ["keel", "jib"],
    patterns = ["spinnakers?"], languages = ["en"], relevant = ["https://example.org/knots.html", "pages/reef.html"],
    irrelevant = ["pages/law.html"].

    Example: fyke topic train sailing.toml --store fyke-store
    """
    from fyke.cli.training import model_beside, train_file

    target = out or model_beside(topic)
    trained = train_file(topic, store, negatives)
    try:
        target.write_bytes(trained.model.encode())
    except OSError as error:
        raise StorageError(f"{target} cannot be written ({error.strerror}); name another file with --out") from None
    measured = trained.model.measured
    if json:
        print_json(
            {
                "model": str(target),
                "relevant": measured.relevant,
                "irrelevant": measured.irrelevant,
                "folds": measured.folds,
                "precision": measured.precision if measured.folds else None,
                "recall": measured.recall if measured.folds else None,
                "area": measured.area if measured.folds else None,
                "warnings": trained.warnings,
            }
        )
        return
    for warning in trained.warnings:
        echo(f"fyke: {warning}", err=True)
    if measured.folds:
        echo(
            f"{measured.relevant} relevant and {measured.irrelevant} other examples, {measured.folds} folds: "
            f"precision {measured.precision:.3f}, recall {measured.recall:.3f}, area under ROC {measured.area:.3f}"
        )
    echo(f"{target}: crawl with `fyke crawl SEED... --topic {target}`")


@app.command("test")
def try_on(
    page: Annotated[str, typer.Argument(metavar="URL|FILE", help="A page of the web, of a store, or on disk.")],
    model: ModelFile = Path("topic.model"),
    store: FromStore = None,
    json: Json = False,
) -> None:
    """Tell how probably a page is about a topic, and which of its words say so.

    Example: fyke topic test https://example.org/knots.html --model sailing.model
    """
    from fyke.cli.training import pages_of
    from fyke.topic.model import PageModel

    try:
        data = model.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {model}: {error.strerror}; make it with `fyke topic train`") from None
    known = PageModel.decode(data, str(model))
    found = pages_of([page], Path(), store)[0]
    probability = known.probability(found)
    relevant = probability >= known.topic.threshold
    words = telling_words(known, found.text)
    if json:
        print_json(
            {"page": page, "title": found.title, "probability": probability, "relevant": relevant, "words": words}
        )
        return
    echo(f"{probability:.3f}  {'relevant' if relevant else 'irrelevant'}  {found.title or page}")
    for word, weight in words:
        echo(f"{weight:+8.3f}  {word}")


def telling_words(model: PageModel, text: str, most: int = 10) -> list[tuple[str, float]]:
    """Return the words of a text that weigh most for or against the topic."""
    from fyke.text.words import words
    from fyke.topic.features import Hasher

    hasher, weights = Hasher(), model.look_weights
    seen = list(dict.fromkeys(words(text)))[:5000]
    weighed = [(word, float(weights[hasher.page(word).features].sum())) for word in seen]
    return sorted((pair for pair in weighed if pair[1]), key=lambda pair: -abs(pair[1]))[:most]
