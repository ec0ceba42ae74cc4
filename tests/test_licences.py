"""Every package that fyke brings may be brought: permissive or MPL, and written down."""

from __future__ import annotations

from tests import licences


def test_no_package_is_under_the_gpl() -> None:
    found = {name: licences.licence_of(name) for name in licences.packages()}
    assert {name: said for name, said in found.items() if said and licences.FORBIDDEN.search(said[1])} == {}


def test_every_installed_package_is_on_the_page() -> None:
    written = licences.PAGE.read_text(encoding="utf-8")
    absent = [name for name in licences.packages() if licences.licence_of(name) and f"| {name} |" not in written]
    assert absent == [], "run python -m tests.licences --write"
