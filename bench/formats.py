"""The table of docs/formats.md: the public set of documents by format, and what becomes of each."""

from __future__ import annotations

import json
import sys
from collections import defaultdict

from bench.measure import SHARED, table
from fyke.convert import Limits, prepare
from fyke.values import Document
from fyke.workers.pool import Pool

FOLDER = SHARED / "data" / "convert"


def main() -> None:
    if not FOLDER.is_dir():
        sys.exit(f"the public set of documents is not at {FOLDER}; set FYKE_SHARED")
    entries = [json.loads(line) for line in (FOLDER / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    with Pool() as pool:
        futures = [
            pool.submit(prepare((FOLDER / e["file"]).read_bytes(), name=e["file"], limits=Limits(seconds=60)))
            for e in entries
        ]
        documents: list[Document] = [future.result() for future in futures]
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    reasons: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for entry, found in zip(entries, documents, strict=True):
        row, said = rows[entry["format"]], f"{found.title} {found.whole}".lower()
        row[0] += 1
        if entry.get("expect") == "text":
            row[1] += 1
            row[2] += found.failure is None and all(word in said for word in entry["words"])
        if found.failure:
            reasons[entry["format"]][found.failure] += 1
    lines = [
        [name, *rows[name], ", ".join(f"{k} {n}" for k, n in sorted(reasons[name].items()))] for name in sorted(rows)
    ]
    lines.append(["all", *(sum(row[k] for row in rows.values()) for k in range(3)), ""])
    print(table(["format", "files", "expected to give text", "gave all listed words", "failures by reason"], lines))


if __name__ == "__main__":
    main()
