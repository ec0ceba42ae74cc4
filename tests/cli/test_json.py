"""What commands that are not on the tour print with ``--json``, held against docs/json."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.cli import run, warming
from fyke.store import Settings, Store
from tests import json_schemas

COMMANDS = """
store compact --store {0}/s
store split --tablets 3 --store {0}/s
store backup {0}/backup --store {0}/s
store restore {0}/backup --store {0}/again
store merge {0}/backup --store {0}/s
store prune --keep 1 --store {0}/s
archive build {0}/p1 --store {0}/s --part 1/2 --min-documents 1
archive build {0}/p2 --store {0}/s --part 2/2 --min-documents 1
archive combine {0}/whole {0}/p1 {0}/p2
archive sub {0}/whole {0}/some --sample 0.5
dedupe {0}/s --save {0}/sketches
dedupe merge {0}/all {0}/sketches
store delete --host b.test --yes --store {0}/s
world --facts --hosts 3 --pages 20 --catalogues 2
world --truth http://www.northern-tribune.test/ --hosts 3 --pages 20
desktop {0}/files --store {0}/desk
desktop purge {0}/files/a.txt --store {0}/desk --yes
warm crawl
doctor
forms {0}/files/form.html
""".split("\n")[1:-1]


def test_every_answer_is_as_docs_json_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "warm", lambda what, processes: {"compiled": 0, "cpu_seconds": 0.0, "seconds": 0.0})
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        for n in range(12):
            page = f"<p>Eels of weir {n} and nets of every hoop, counted by hand."
            store.put(f"http://{'ab'[n % 2]}.test/{n}", raw=page.encode(), text=page[3:], fetched=1e9 + n)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("Eels and weirs, told at length to whoever asks.")
    (tmp_path / "files" / "form.html").write_text("<form><input name=q></form>")
    for line in COMMANDS:
        words = [word.format(tmp_path) for word in line.split()]
        status = run([*words, "--json"])
        said = capfd.readouterr()
        assert status == 0 or line == "doctor", f"{line}: {said.err}"  # which may find something
        assert said.out, f"{line} says nothing"
        wrong = json_schemas.faults(json_schemas.name_of(f"fyke {line}"), said.out)
        assert not wrong, f"{line} is not as docs/json says: {wrong}"
