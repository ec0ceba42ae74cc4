"""What follows from what is seen: pure decisions, of states, of moves, of settling, of throttle."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.desktop import state as state_
from fyke.desktop.documents import member_url
from fyke.desktop.ignore import Policy, Rules, by_name, holds_private_key
from fyke.desktop.state import (
    Difference,
    Known,
    Settling,
    identity,
    is_racy,
    is_same,
    is_unsure,
    known_of,
    outermost,
    pack,
    unsure,
)
from fyke.desktop.throttle import LOOK, PATIENCE, Machine, Throttle
from fyke.formats import mbox
from fyke.url import Url


def test_a_state_is_what_was_seen_and_what_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_, "RACE", 0.02)
    (tmp_path / "a").write_text("x")
    found = identity(os.lstat(tmp_path / "a"))
    state = pack(found, Known(12.5, "private-key", members=True))
    assert known_of(state) == Known(12.5, "private-key", members=True)
    assert is_same(state, found)
    assert not is_same(pack(unsure(found), Known()), found)
    assert is_unsure(unsure(found))
    assert is_racy(found, os.lstat(tmp_path / "a").st_ctime + 0.001)
    assert not is_racy(found, os.lstat(tmp_path / "a").st_ctime + 1)


names = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), max_size=6)


@given(known=names, seen=names)
def test_a_difference_accounts_for_every_name(known: dict[str, int], seen: dict[str, int]) -> None:
    stats = {inode: inode.to_bytes(40, "big") for inode in range(10)}
    found = Difference()
    found.compare("/f", {n: stats[i] for n, i in seen.items()}, {n: pack(stats[i], Known()) for n, i in known.items()})
    same = {n for n in seen if known.get(n) == seen[n]}
    assert found.unchanged == len(same)
    assert set(found.new) == {f"/f/{n}" for n in seen if n not in known}
    assert set(found.changed) == {f"/f/{n}" for n in seen if n in known and n not in same}
    assert set(found.vanished) == {f"/f/{n}" for n in known if n not in seen}
    new, vanished = dict(found.new), dict(found.vanished)
    moved = found.moves()
    assert len(set(moved.values())) == len(moved)
    assert all(vanished[old][:32] == new[there][:32] for old, there in moved.items())
    left = {state[:32] for state in found.vanished.values()} & {state[:32] for state in found.new.values()}
    assert not left, "whoever can have moved has"


def test_settling_waits_for_rest_and_not_for_ever() -> None:
    settling = Settling()
    settling.touch("/a", 0.0)
    assert settling.settled(0.2) == []
    settling.touch("/a", 0.2)
    assert settling.settled(0.4) == []
    assert settling.settled(0.5) == ["/a"]
    settling.touch("/b", 10.0, at_rest=True)
    settling.touch("/c", 10.04, at_rest=True)
    assert settling.settled(10.1) == ["/b", "/c"], "the halves of a rename come together"
    settling.touch("/mail.mbox", 20.0)
    assert settling.settled(79.0) == []
    assert settling.settled(80.0) == ["/mail.mbox"]
    now, taken = 100.0, 0
    while now < 200.0:  # somebody who never stops writing
        settling.touch("/endless", now)
        taken += len(settling.settled(now))
        now += 0.1
    assert 9 <= taken <= 12
    assert settling.wait(now) is not None
    assert len(settling) <= 1


@given(st.lists(st.text("ab/", max_size=6).map(lambda text: "/" + text.strip("/")), max_size=8))
def test_outermost_paths_hold_all_others(paths: list[str]) -> None:
    kept = outermost(paths)
    assert set(kept) <= set(paths)
    for path in paths:
        holders = [k for k in kept if path == k or path.startswith(k.rstrip("/") + "/")]
        assert len(holders) == 1


def test_names_that_are_left_out() -> None:
    assert not by_name("history of art.txt", False)
    assert not by_name("id_card.pdf", False)
    assert not by_name("monkey.txt", False)
    assert not by_name("HISTORY", False)
    assert not by_name("environment.md", False)
    for name in ("id_rsa", "a.PEM", ".zsh_history", "Database.kdbx", "~$letter.docx", ".x"):
        assert by_name(name, False), name
    assert by_name(".ssh", True, include_hidden=True)
    assert not by_name(".config", True, include_hidden=True)


def test_rules_of_the_nearest_ignore_file_win() -> None:
    files = {"/r/.gitignore": "*.log\nbuild/\n", "/r/s/.gitignore": "!x.log\n", "/r/.fykeignore": "/only.txt\n"}
    outer = Rules.of(Policy(exclude=("/r/abs/", "*.iso")), "/r").enter("/r", {".gitignore", ".fykeignore"}, files.get)  # type: ignore[arg-type]
    assert isinstance(outer, Rules)
    inner = outer.enter("/r/s", {".gitignore"}, files.get)  # type: ignore[arg-type]
    assert isinstance(inner, Rules)
    said = {
        (folder, name, kind): rules.verdict(folder, name, kind)
        for rules, folder, name, kind in (
            (outer, "/r", "x.log", False), (inner, "/r/s", "x.log", False), (inner, "/r/s", "y.log", False),
            (outer, "/r", "build", True), (outer, "/r", "build", False), (outer, "/r", "only.txt", False),
            (inner, "/r/s", "only.txt", False), (outer, "/r", "abs", True), (inner, "/r/s", "a.iso", False),
        )
    }  # fmt: skip
    assert [v.reason if v else "" for v in said.values()] == [
        "ignored", "", "ignored", "ignored", "", "ignored", "", "excluded", "excluded",
    ]  # fmt: skip


@given(st.binary(max_size=200))
def test_any_bytes_may_be_asked_for_keys(data: bytes) -> None:
    assert not holds_private_key(data)
    assert holds_private_key(data + b"\n-----BEGIN RSA PRIVATE KEY-----\n" + data)


@given(st.text(max_size=40))
def test_members_stay_in_their_container(name: str) -> None:
    container = Url.parse("file:///home/a%21.zip")
    url = member_url(container, name)
    assert url.href.startswith(container.href + "!/")
    assert Url.parse(url.href) == url
    assert Url.from_key(url.key) == url


@given(
    st.lists(st.sampled_from([b"one\n", b"two\n\n", b">From me\n", b"Subject: x\n\n"]), max_size=6), st.integers(1, 50)
)
def test_a_mailbox_in_chunks_has_the_same_messages(lines: list[bytes], size: int) -> None:
    line = b"From a@example.org Tue Nov 17 02:00:00 2026\n"
    data = b"\n".join(line + b"Subject: %d\n\n" % n + each for n, each in enumerate(lines))
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(mbox.stream(chunks, 10_000)) == (list(mbox.messages(data)) if data else [])


def test_pauses_and_share(tmp_path: Path) -> None:
    pressure, power = tmp_path / "pressure", tmp_path / "power"
    (power / "BAT0").mkdir(parents=True)
    pressure.mkdir()

    def say(cpu: float, status: str = "Charging", level: int = 80) -> None:
        (pressure / "cpu").write_text(f"some avg10={cpu:.2f} avg60=0.00 avg300=0.00 total=1\n")
        for name, value in (("type", "Battery"), ("status", status), ("capacity", level)):
            (power / "BAT0" / name).write_text(f"{value}\n")

    now = [0.0]
    throttle = Throttle(0.25, True, Machine(power, pressure), lambda: now[0])
    say(10)
    assert throttle.wait() == 0
    with throttle.step():
        now[0] += 1.0
    assert throttle.wait() == 3.0, "a quarter of a core"
    say(60)
    now[0] += 10
    assert (throttle.wait(), throttle.waits_for) == (LOOK, "cpu")
    say(30)
    now[0] += 10
    assert (throttle.wait(), throttle.waits_for) == (LOOK, "cpu"), "it goes on at half"
    now[0] += PATIENCE
    assert throttle.wait() == 0, "a machine that is always busy is not waited for forever"
    with throttle.step():
        now[0] += 0.1
    assert round(throttle.wait(), 6) == 0.9, "but gets a tenth of a core"
    say(10)
    now[0] += LOOK
    assert (throttle.wait(), throttle.waits_for) == (0, "")
    say(10, "Discharging", 40)
    now[0] += 1000
    assert (throttle.wait(), throttle.waits_for) == (LOOK, "battery")
    now[0] += 10 * PATIENCE
    assert throttle.wait() == LOOK
    (power / "AC").mkdir()
    (power / "AC" / "type").write_text("Mains")
    (power / "AC" / "online").write_text("1")
    now[0] += LOOK
    assert throttle.wait() == 0
