"""No command deletes or overwrites what it did not make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.errors import StorageError, UserError
from fyke.outputs import WORK, making, replacing
from fyke.store import Store
from tests.simulate.test_simulate import pages


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    with (folder / "pages.jsonl").open("w") as out:
        for page in pages(30):
            out.write(json.dumps({"url": page.url, "links": page.links, "text": page.text or "x"}) + "\n")
    return folder / "pages.jsonl"


def build(out: Path, source: Path, *more: str) -> int:
    return run(["archive", "build", str(out), "--from", str(source), "--min-documents", "1", *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        ["archive", "build", "{out}", "--from", "{source}"],
        ["archive", "build", "{out}", "--from", "{source}", "--workers", "2"],
        ["archive", "build", "{out}", "--from", "{source}", "--part", "1/2"],
        ["archive", "combine", "{out}", "{part}"],
        ["archive", "sub", "{archive}", "{out}"],
        ["lecture", "--write", "{out}"],
        ["dedupe", "{source}", "--save", "{out}"],
        ["dedupe", "merge", "{out}", "{sketches}"],
    ],
    ids=lambda words: " ".join(words[:2] + words[-1:]),
)
def test_a_users_folder_stays(
    words: list[str], source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = {name: str(tmp_path / name) for name in ("out", "part", "archive", "sketches")} | {"source": str(source)}
    assert build(tmp_path / "part", source, "--part", "1/1") == 0
    assert build(tmp_path / "archive", source) == 0
    assert run(["dedupe", str(source), "--save", names["sketches"]]) == 0
    out = tmp_path / "out"
    for mine in ("parts/thesis.txt", "run-0001/log.txt", "run-1/log.txt", "page.html", ".fyke-building/notes.txt"):
        (out / mine).parent.mkdir(parents=True, exist_ok=True)
        (out / mine).write_text("mine")
    before = contents(out)
    assert run([word.format(**names) for word in words]) in {1, 2}
    assert contents(out) == before
    assert "name a new" in capfd.readouterr().err


def test_an_archive_is_no_place_for_another_kind(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert build(tmp_path / name, source) == 0
    before = contents(tmp_path)
    assert run(["archive", "sub", str(tmp_path / "a"), str(tmp_path / "a")]) == 2
    assert run(["archive", "sub", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert run(["graph", "convert", str(tmp_path / "a" / "graph"), str(tmp_path / "b" / "graph")]) == 2
    assert build(tmp_path / "a", source, "--part", "1/2") == 2
    assert contents(tmp_path) == before
    assert run(["archive", "sub", str(tmp_path / "a"), str(tmp_path / "s"), "--sample", "0.5"]) == 0
    before = contents(tmp_path)
    assert run(["archive", "sub", str(tmp_path / "s"), str(tmp_path / "s"), "--sample", "0.5"]) == 2
    assert build(tmp_path / "s", source) == 2
    assert contents(tmp_path) == before


def test_a_command_replaces_what_it_made(source: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert build(tmp_path / "a", source) == 0
        assert build(tmp_path / "p", source, "--part", "1/1") == 0
        assert run(["archive", "sub", str(tmp_path / "a"), str(tmp_path / "s"), "--sample", "0.5"]) == 0
        assert run(["archive", "combine", str(tmp_path / "c"), str(tmp_path / "p")]) == 0
        assert run(["lecture", "--write", str(tmp_path / "l")]) == 0
        assert run(["graph", "convert", str(tmp_path / "a" / "graph"), str(tmp_path / "g")]) == 0
    assert not list(tmp_path.rglob(WORK))
    assert {p.name for p in (tmp_path / "p").iterdir()} == {"run-0000"}
    before = contents(tmp_path / "a")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no json")
    assert build(tmp_path / "a", bad) == 1
    assert build(tmp_path / "new", bad) == 1
    assert contents(tmp_path / "a") == before
    assert not (tmp_path / "new").exists()


def test_a_killed_swap_is_known_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step of the swap is the last one, the next run finds its folder, and nothing of the user's goes."""

    def own(folder: Path) -> frozenset[str]:
        return frozenset({"mark", "a", "b"}) if (folder / "mark").exists() else frozenset()

    def make(folder: Path, value: str, names: str) -> None:
        with making(folder, "thing", own, "mark") as new:
            for name in [*names, "mark"]:
                (new / name).write_text(value)

    true_rename = Path.rename
    for killed_at in range(12):
        folder = tmp_path / str(killed_at)
        make(folder, "1", "ab")
        left = killed_at

        def rename(path: Path, target: Path) -> Path:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return true_rename(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", rename)
            try:
                make(folder, "2", "a")
            except KeyboardInterrupt:
                marked = (folder / "mark").exists()
                assert not marked or {(folder / n).read_text() for n in ("mark", "a")} == {(folder / "a").read_text()}
        make(folder, "3", "b")
        assert contents(folder) == {"b": b"3", "mark": b"3"}
        (folder / "letter").write_text("mine")
        with pytest.raises(UserError, match="letter"):
            make(folder, "4", "b")
        assert (folder / "letter").read_text() == "mine"


def test_two_makers_of_one_folder(tmp_path: Path) -> None:
    with (
        making(tmp_path / "x", "thing", lambda _: frozenset()),
        pytest.raises(StorageError, match="another process"),
        making(tmp_path / "x", "thing", lambda _: frozenset()),
    ):
        pass


def test_a_file_is_replaced_when_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(file) as new:
        new.write_text("half\udc80")
    assert contents(tmp_path) == {"out.txt": b"old"}
    with replacing(file) as new:
        new.write_text("new")
    assert file.read_text() == "new"
    with replacing(Path("/dev/null")) as new:
        assert new == Path("/dev/null")
    assert Path("/dev/null").is_char_device()
    (tmp_path / "link").symlink_to("out.txt")
    with replacing(tmp_path / "link") as new:
        new.write_text("new")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "link").unlink()
    (tmp_path / "plain").touch()
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"out.txt", "plain"}


def test_what_is_read_is_not_written(source: Path, tmp_path: Path) -> None:
    """The output is one of the inputs, or stands beside it under a name that the user did not give."""
    mine = tmp_path / "pages.jsonl"
    mine.write_bytes(source.read_bytes())
    assert run(["dedupe", str(mine), "--output", str(mine)]) == 2
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 2\n")
    assert run(["graph", "convert", str(edges), str(edges)]) == 2
    assert run(["graph", "convert", str(edges), str(tmp_path / "g")]) == 0
    assert run(["graph", "convert", str(tmp_path / "g"), str(tmp_path / "g"), "--transpose"]) == 2
    (tmp_path / "drawing.graph").write_text("mine")
    assert run(["graph", "convert", str(edges), str(tmp_path / "drawing")]) == 2
    (tmp_path / "boats.toml").write_text('name = "boats"\nwords = ["boat"]\n')
    (tmp_path / "boats.model").write_text("mine")
    assert run(["topic", "train", str(tmp_path / "boats.toml")]) == 2
    with Store.open(tmp_path / "store") as store:
        store.put("http://a.test/", raw=b"HTTP/1.1 200 OK\r\n\r\nhello")
    (tmp_path / "a.warc.gz.cdxj").write_text("mine")
    (tmp_path / ".b.warc.gz.new").write_text("mine")
    assert run(["export", str(tmp_path / "a.warc.gz"), "--store", str(tmp_path / "store")]) == 2
    assert run(["export", str(tmp_path / "b.warc.gz"), "--store", str(tmp_path / "store")]) == 0
    assert (tmp_path / "b.warc.gz.cdxj").stat().st_size
    assert mine.read_bytes() == source.read_bytes()
    for kept in ("drawing.graph", "boats.model", "a.warc.gz.cdxj", ".b.warc.gz.new"):
        assert (tmp_path / kept).read_text() == "mine"
