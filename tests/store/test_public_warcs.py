"""WARC and ARC files of others, good, odd and damaged: every body comes in, what is wrong is told, twice is once."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from fyke.errors import UserError
from fyke.store import Settings, Store
from fyke.store.importing import Imported, Importer
from fyke.store.maintenance import check

NOT_TOLD = {"made/chunked-no-end.warc", "made/dns.warc"}
"""Told as damage though the file is called good: a body without its last chunk, a URL that names no document."""


def read_in(store: Store, path: Path) -> tuple[Imported, int]:
    with Importer(store) as importer:
        done = importer.file(path)
    return done, importer.unresolved


def bodies(store: Store) -> list[str]:
    found = (version.raw for row in store.scan() for version in row.history() if version.page is not None)
    return sorted(hashlib.sha1(body or b"").hexdigest() for body in found)


def test_made_files(shared_data: Path, tmp_path: Path) -> None:
    facts = [json.loads(line) for line in (shared_data / "warc" / "made.jsonl").read_text().splitlines()]
    wrong = []
    for number, fact in enumerate(facts):
        with Store.open(tmp_path / str(number), settings=Settings(tablets=1)) as store:
            try:
                done, _ = read_in(store, shared_data / "warc" / fact["file"])
            except UserError:
                if fact["types"]:
                    wrong.append((fact["file"], "refused"))
                continue
            told = bool(done.report.counts)
            wanted = sorted(base64.b32decode(digest[5:]).hex() for digest in fact.get("body_sha1") or [])
            found = bodies(store)
            # A broken record may be given, too, if it is marked.
            if wanted and found != wanted and not (fact["group"] == "damaged" and set(wanted) <= set(found)):
                wrong.append((fact["file"], fact["what"]))
            if told != fact["error"] and fact["file"] not in NOT_TOLD:
                wrong.append((fact["file"], f"told {dict(done.report.counts)}"))
            again, _ = read_in(store, shared_data / "warc" / fact["file"])
            if again.rows or bodies(store) != found or check(store).faults:
                wrong.append((fact["file"], f"twice: {again.rows} more"))
    assert wrong == []


def test_files_of_others(shared_data: Path, tmp_path: Path) -> None:
    facts = [json.loads(line) for line in (shared_data / "warc" / "manifest.jsonl").read_text().splitlines()]
    wrong = []
    for number, fact in enumerate(facts):
        path = shared_data / "warc" / fact["file"]
        if fact["compression"] == "lz4" or not fact.get("listing"):
            continue
        kinds = [record["type"] for record in fact["listing"]]
        wanted = sum(kind in ("response", "revisit", "resource", "conversion") for kind in kinds)
        with Store.open(tmp_path / str(number), settings=Settings(tablets=1)) as store:
            try:
                done, _ = read_in(store, path)
            except UserError as error:
                if wanted:
                    wrong.append((fact["file"], str(error)))
                continue
            unnamed = done.report.counts["url"]
            if fact["state"] != "damaged" and done.rows + done.known + unnamed < wanted:
                wrong.append((fact["file"], f"{done.rows} + {done.known} + {unnamed} of {wanted}"))
            again, _ = read_in(store, path)
            if again.rows:
                wrong.append((fact["file"], f"twice: {again.rows} more"))
    assert wrong == []


@pytest.mark.parametrize("ending", [".warc.gz", ".warc.zst"])
def test_damage_at_the_very_start_costs_its_record_alone(tmp_path: Path, ending: str) -> None:
    from fyke.store.exporting import export

    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        for number in range(4):
            head = b"HTTP/1.1 200 OK\r\n\r\n"
            store.put(f"http://a.test/{number}", raw=b"page %d" % number, response_head=head, fetched=1_000 + number)
        export(store.scan(), tmp_path / f"whole{ending}")
    whole = (tmp_path / f"whole{ending}").read_bytes()
    for place in (12, 30, 60):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / f"damaged{ending}").write_bytes(damaged)
        with Store.open(tmp_path / f"t{place}", settings=Settings(tablets=1)) as store:
            done, _ = read_in(store, tmp_path / f"damaged{ending}")
            assert done.rows == 4
            assert done.report.counts
