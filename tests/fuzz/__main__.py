"""``python -m tests.fuzz``: mutations of every file format, hostile pages for every parser; status 1 if one did harm.

Each case is made from the seed, the target's name and its number, so ``--only NAME --first N --mutations 1``
repeats one.
``--write`` puts the rows of what was run into the tables of docs/security.md.
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.page import put_rows
from tests.fuzz.run import Result, run_target, table
from tests.fuzz.target import FORMAT, PARSER
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    words.add_argument("--only", nargs="*", default=[], help="names of targets; all by default")
    words.add_argument("--mutations", type=int, default=10_000, help="cases for each file format")
    words.add_argument("--pages", type=int, default=1_000, help="cases for each parser")
    words.add_argument("--first", type=int, default=0, help="number of the first case")
    words.add_argument("--seed", default="1")
    words.add_argument("--write", action="store_true", help="write the tables into docs/security.md")
    asked = words.parse_args()
    results: list[Result] = []
    for name, target in TARGETS.items():
        if asked.only and name not in asked.only:
            continue
        cases = asked.mutations if target.kind == FORMAT else asked.pages
        results.append(run_target(name, target.kind, cases, asked.seed, asked.first))
        last = results[-1]
        print(f"{name:22} {last.cases:7,} cases, {last.refused:6,} refused, {len(last.faults)} faults, slowest "
              f"{1000 * last.slowest:5.0f} ms, {last.grown:4.0f} MB", flush=True)  # fmt: skip
        shown: set[str] = set()
        for fault in last.faults:
            place = fault.partition(": ")[2]
            if place not in shown and len(shown) < 12:
                shown.add(place)
                print("   ", fault, flush=True)
    print(table(results))
    if asked.write:
        for kind in (FORMAT, PARSER):
            rows = [result for result in results if result.kind == kind]
            put_rows(f"fuzz {kind}s", table(rows), [name for name, each in TARGETS.items() if each.kind == kind])
    return 1 if any(result.faults for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
