"""Every package that fyke brings may be brought: permissive or MPL, and written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import audit, licences


def test_no_package_is_under_the_gpl() -> None:
    found = {name: licences.licence_of(name) for name in licences.packages()}
    assert {name: said for name, said in found.items() if said and licences.FORBIDDEN.search(said[1])} == {}


def test_every_installed_package_is_on_the_page() -> None:
    written = licences.PAGE.read_text(encoding="utf-8")
    absent = [name for name in licences.packages() if licences.licence_of(name) and f"| {name} |" not in written]
    assert absent == [], "run python -m tests.licences --write"


def test_what_is_locked_is_pinned_and_hashed() -> None:
    assert [fault for fault in audit.faults() if "installed" not in fault] == []


def test_the_audit_finds_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.lock").write_text("loose>=1\nbare==2\nfine==3 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    (tmp_path / "bad.txt").write_text("# why\nfine==3  it phones home\n")
    monkeypatch.setattr(audit, "LOCKS", tmp_path)
    assert audit.faults() == [
        "main.lock: 'loose>=1' pins no version",
        "main.lock: bare 2 has no hash",
        "main.lock: fine 3 is known to be bad: it phones home",
    ]
