"""Scans of folders: what becomes a row, what changed, what moved, what is gone; and what files may do to us."""

from __future__ import annotations

import mailbox
import os
import socket
import subprocess
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.desktop import documents, state
from fyke.desktop.check import check
from fyke.errors import UserError
from fyke.store import Store
from fyke.store.imports.files import file_url
from fyke.store.maintenance import check as verify
from tests.desktop.helpers import audited, live, scan, texts

WORDS = "tropical fish include fish found in tropical environments around the world"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "notes").mkdir(parents=True)
    (folder / "a.txt").write_text(WORDS)
    (folder / "notes" / "b.html").write_text(f"<title>B</title><p>{WORDS} b</p>")
    (folder / "empty.txt").write_text("")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def is_sound(store: Path) -> bool:
    with Store.open(store, mode="r") as opened:
        return verify(opened).named == []


def test_files_become_rows_that_every_command_takes(
    home: Path, store: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = scan(store, home)
    assert (report.files, report.new, report.errors) == (3, 3, {"empty": 1})
    found = live(store)
    row = found[str(home / "notes" / "b.html")]
    assert (row.meta.type, row.title, row.raw, row.meta.private) == ("text/html", "B", None, True)
    assert texts(store)[str(home / "a.txt")] == WORDS
    monkeypatch.setenv("HOME", str(home))
    for words in (["get", "~/a.txt"], ["get", "~/a.txt", "--show", "raw"], ["get", "~/a.txt", "--snippet", "tropical"]):
        assert run([*words, "--store", str(store)]) == 0
        assert "tropical" in capfd.readouterr().out
    assert run(["list", "~/notes/", "--store", str(store)]) == 0
    assert "b.html" in capfd.readouterr().out
    assert run(["similar", "~/a.txt", "--threshold", "0.5", "--store", str(store)]) == 0
    assert "b.html" in capfd.readouterr().out
    assert run(["get", "~/a.txt", "--show", "meta", "--json", "--store", str(store)]) == 0
    said = capfd.readouterr().out
    assert '"mode":"0' in said
    assert f'"length":{len(WORDS)}' in said


def test_exports_of_local_files_ask_first(
    home: Path, store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan(store, home)
    out = tmp_path / "out.jsonl"
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert run(["export", str(out), "--store", str(store)]) == 2
    assert "--yes" in capfd.readouterr().err
    assert not out.exists()
    assert run(["export", str(out), "--store", str(store), "--yes"]) == 0
    assert WORDS in out.read_text()


def test_a_second_scan_opens_no_file(home: Path, store: Path) -> None:
    (home / ".gitignore").write_text("*.log\n")
    (home / "x.log").write_text("noise")
    scan(store, home)
    with audited("open") as opened:
        report = scan(store, home)
    assert report.unchanged == 3
    assert [path for path, *_ in opened if str(path).startswith(str(home))] == []


def test_what_was_written_as_it_was_read_is_read_again(
    home: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "RACE", 3600.0)  # a clock with long ticks
    scan(store, home)
    before = (home / "a.txt").stat()
    (home / "a.txt").write_text(WORDS.upper())
    os.utime(home / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    scan(store, home)
    assert texts(store)[str(home / "a.txt")] == WORDS.upper()


def test_what_changed_is_told_by_state_and_not_by_dates(home: Path, store: Path, tmp_path: Path) -> None:
    scan(store, home)
    old = home / "old.txt"
    old.write_text("copied in with its date of long ago")
    os.utime(old, (1e9, 1e9))
    (home / "a.txt").write_text(WORDS.replace("fish", "FISH"))  # as long as before
    report = scan(store, home)
    assert (report.new, report.changed, report.unchanged) == (1, 1, 2)
    assert "FISH" in texts(store)[str(home / "a.txt")]
    stamp = live(store)[str(home / "a.txt")].stamp
    os.utime(home / "a.txt", (2e9, 2e9))
    (home / "a.txt").chmod(0o640)
    assert scan(store, home).changed == 1
    row = live(store)[str(home / "a.txt")]
    assert row.stamp == stamp, "the same bytes are no new version"
    with Store.open(store, mode="r") as opened:
        answer = check(opened, str(home / "a.txt"))
    assert (answer.stored, answer.reason, answer.mode) == (True, "", "0640")
    assert is_sound(store)


def test_moved_files_and_folders_keep_their_rows(home: Path, store: Path) -> None:
    with zipfile.ZipFile(home / "notes" / "z.zip", "w") as archive:
        archive.writestr("inner/one.txt", "the first of them")
        archive.writestr("two.txt", "the second of them")
    scan(store, home)
    before = live(store)
    (home / "notes").rename(home / "other")
    report = scan(store, home)
    assert (report.moved, report.new, report.gone, report.bytes) == (2, 0, 0, 0), "nothing is read again"
    after = live(store)
    moved = str(home / "other" / "b.html")
    assert after[moved].stamp == before[str(home / "notes" / "b.html")].stamp
    assert texts(store)[file_url(home / "other" / "z.zip").href + "!/inner/one.txt"] == "the first of them"
    assert not [path for path in after if "notes" in path]
    a, b = home / "a.txt", home / "other" / "b.html"
    swapped = home / "swap"
    a.rename(swapped), b.rename(a), swapped.rename(b)
    scan(store, home)
    assert WORDS + " b" in texts(store)[str(a)]
    assert texts(store)[str(b)] == WORDS
    assert is_sound(store)


def test_a_name_that_says_another_type_is_read_anew(home: Path, store: Path) -> None:
    scan(store, home)
    (home / "a.txt").rename(home / "a.csv")
    scan(store, home)
    assert live(store)[str(home / "a.csv")].meta.type == "text/csv"


def test_what_vanished_leaves_a_tombstone_without_text(home: Path, store: Path) -> None:
    scan(store, home)
    (home / "a.txt").unlink()
    assert scan(store, home).gone == 1
    with Store.open(store, mode="r") as opened:
        row = opened.get(file_url(home / "a.txt"))
        assert row is not None
        assert (row.meta.error, row.text, row.raw, len(row.versions)) == ("gone", None, None, 1)
        assert check(opened, str(home / "a.txt")).reason == "gone"
    (home / "a.txt").write_text("it is back")
    scan(store, home)
    assert texts(store)[str(home / "a.txt")] == "it is back"
    assert is_sound(store)


def test_a_missing_root_and_half_of_all_gone_stop_and_ask(home: Path, store: Path) -> None:
    for number in range(10):
        (home / f"{number}.txt").write_text(f"number {number}")
    scan(store, home)
    away = home.rename(home.with_name("away"))
    with pytest.raises(UserError, match="not there"):
        scan(store, home)
    assert len(live(store)) == 13
    home.mkdir()
    with pytest.raises(UserError, match="mounted"):
        scan(store, home)
    home.rmdir()
    away.rename(home)
    assert scan(store, home).unchanged == 13
    for number in range(8):
        (home / f"{number}.txt").unlink()
    with pytest.raises(UserError, match="8 of 13"):
        scan(store, home)
    assert len(live(store)) == 13
    assert scan(store, home, yes=True).gone == 8
    assert len(live(store)) == 5


def test_what_is_on_a_disk_that_is_not_mounted_is_not_gone(home: Path, store: Path) -> None:
    for number in range(3):
        (home / "notes" / f"{number}.txt").write_text(f"number {number}")
    scan(store, home, mounts=(str(home / "notes"),))  # where a disk was mounted once
    for path in (home / "notes").iterdir():
        path.unlink()
    report = scan(store, home)
    assert (report.gone, report.left_out["unmounted"]) == (0, 4)
    assert str(home / "notes" / "b.html") in live(store)


def test_the_command_asks_by_its_status(home: Path, store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["desktop", str(home / "nowhere"), "--store", str(store)]) == 2
    assert run(["desktop", "--store", str(store)]) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_members_of_containers_are_rows(home: Path, store: Path) -> None:
    box = mailbox.mbox(home / "inbox")
    for number in range(3):
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = f"Mail {number}", "a@example.org", "b@example.org"
        message["Message-ID"], message["Date"] = f"<{number}@example.org>", "Tue, 17 Nov 2026 02:00:00 +0000"
        message.set_content(f"This is what message {number} says.")
        box.add(message)
    box.close()
    with zipfile.ZipFile(home / "z.zip", "w") as archive:
        archive.writestr("../../outside.txt", "a member that would be elsewhere")
        archive.writestr("notes/in.txt", "a member of the archive")
    scan(store, home)
    inbox, archive_url = file_url(home / "inbox").href, file_url(home / "z.zip").href
    found = texts(store)
    assert "what message 1 says" in found[f"{inbox}!/1@example.org"]
    assert found[f"{archive_url}!/notes/in.txt"] == "a member of the archive"
    assert [url for url in found if "outside" in url] == [f"{archive_url}!/_/_/outside.txt"]
    first = {url: row.stamp for url, row in live(store).items()}
    box = mailbox.mbox(home / "inbox")
    del message["Message-ID"]
    message["Message-ID"] = "<new@example.org>"
    box.add(message)
    box.close()
    scan(store, home)
    second = {url: row.stamp for url, row in live(store).items()}
    assert second[f"{inbox}!/1@example.org"] == first[f"{inbox}!/1@example.org"], "only what is new is converted"
    assert f"{inbox}!/new@example.org" in second
    (home / "inbox").unlink()
    scan(store, home)
    assert not [url for url in live(store) if "inbox" in url]
    assert is_sound(store)


def test_bad_files_are_counted_and_stop_nothing(home: Path, store: Path) -> None:
    odd = os.fsencode(home) + b"/\xff\xfe.txt"
    Path(os.fsdecode(odd)).write_text("a name that is no UTF-8")
    os.mkfifo(home / "pipe")
    (home / "loop").symlink_to(home)
    (home / "dangling").symlink_to(home / "nothing")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(home)  # the path of a socket must be short
    listener.bind("sock")
    os.chdir(here)
    with (home / "huge.bin").open("wb") as file:
        file.truncate(5_000_000_000)
    (home / "damaged.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    (home / "shut.txt").write_text("nobody may read this")
    (home / "shut.txt").chmod(0)
    report = scan(store, home)
    listener.close()
    assert report.left_out["special"] == 2
    assert report.left_out["symlink"] == 2
    assert report.errors["too-large"] == 1
    assert report.errors["damaged"] == 1
    if os.geteuid():
        assert report.errors["denied"] == 1
    rows = live(store)
    assert rows[str(home / "huge.bin")].meta.length == 5_000_000_000
    assert texts(store)[os.fsdecode(odd)] == "a name that is no UTF-8"
    assert scan(store, home).unchanged == report.files
    assert is_sound(store)


def test_a_file_that_grows_or_vanishes_while_it_is_read(
    home: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = documents._whole

    def growing(handle: int, limit: int) -> bytes:
        body = whole(handle, limit)
        with (home / "a.txt").open("a") as file:
            file.write(" and on")
        (home / "empty.txt").unlink(missing_ok=True)
        return body

    monkeypatch.setattr(documents, "_whole", growing)
    os.utime(home / "a.txt", (2e9, 2e9))  # the newest is read first
    report = scan(store, home)
    assert report.errors == {"vanished": 1}
    row = live(store)[str(home / "a.txt")]
    assert (row.meta.truncated, row.meta.error) == (True, "")
    monkeypatch.setattr(documents, "_whole", whole)
    assert scan(store, home).changed == 1, "what may have been written since is read again"
    assert texts(store)[str(home / "a.txt")] == (home / "a.txt").read_text()
    assert not live(store)[str(home / "a.txt")].meta.truncated


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_not_gone(home: Path, store: Path) -> None:
    scan(store, home)
    (home / "notes").chmod(0)
    assert scan(store, home).gone == 0
    (home / "notes").chmod(0o700)
    assert str(home / "notes" / "b.html") in live(store)


def test_a_store_in_the_folder_is_not_read(home: Path) -> None:
    store = home / "fyke-store"
    scan(store, home)
    assert not [path for path in live(store) if "fyke-store" in path]
    assert scan(store, home).new == 0


def test_kill_9_in_the_middle_of_a_scan_loses_and_doubles_nothing(tmp_path: Path, store: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for number in range(300):
        (home / f"{number}.txt").write_text(f"file number {number}")
    program = (
        "import os, sys, pathlib, signal\n"
        "from fyke.desktop.files import Files\n"
        "from tests.desktop.helpers import scan\n"
        "write, left = Files.write, [2]\n"
        "def dying(self):\n"
        "    write(self)\n"
        "    left[0] -= 1\n"
        "    if not left[0]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "Files.write = dying\n"
        "scan(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[1]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(home), str(store)], check=False, cwd=Path(__file__).parents[2]
    )
    assert ended.returncode == -9
    scan(store, home)
    assert texts(store) == {str(home / f"{number}.txt"): f"file number {number}" for number in range(300)}
    assert is_sound(store)
