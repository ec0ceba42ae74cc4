"""Privacy: what is left out by default, who can read the store, and that a purge leaves no byte."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
import zipfile
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.desktop import plan as plans
from fyke.desktop.check import check
from fyke.errors import UserError
from fyke.store import Store
from fyke.store.cells import FAMILIES, LINKS, OWN, PAGE, TEXT
from fyke.store.imports.files import file_url
from tests import json_schemas
from tests.desktop.helpers import audited, live, scan, texts

CANARY = "canary" + secrets.token_hex(16)
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----\n"

SECRETS = [
    ".ssh/config", ".ssh/known_hosts", ".gnupg/x.txt", ".aws/credentials", ".kube/config", ".hidden.txt", ".env",
    ".netrc", ".bash_history", "id_rsa", "id_ed25519.pub", "work/id_work", "vault.kdbx", "server.pem", "tls.key",
    "psql_history", "prod.env", ".config/app/token.txt", ".password-store/bank.gpg", ".mozilla/firefox/x/prefs.js",
    "profile/logins.json", "profile/bookmarks.html", "chrome/Default/Login Data", "chrome/Default/History.txt",
    "keyrings/login.txt", "web/node_modules/x/readme.md", ".cache/x.txt", "__pycache__/x.txt", "backup~",
    "ignored/CACHEDIR.TAG", "ignored/x.txt", "unsearched/.nosearch", "unsearched/x.txt", "tracker/.trackerignore",
    "tracker/deep/er/x.txt",
]  # fmt: skip


def cells(store: Path) -> bytes:
    """Every key and value of a store, decompressed."""
    found = []
    with Store.open(store, mode="r") as opened:
        for tablet in opened.tablets():
            for family in (*FAMILIES, OWN):
                for key, value in tablet.items(family):
                    found += [key, tablet.decode(value) if family in (PAGE, TEXT, LINKS) else value]
    return b"\n".join(found)


def files_of(store: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.mark.parametrize("include_hidden", [False, True])
def test_secrets_are_left_out(tmp_path: Path, store: Path, include_hidden: bool) -> None:
    home = tmp_path / "home"
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{CANARY} in {name}")
    (home / "holiday.txt").write_text(KEY)
    (home / "notes.md").write_text(f"# Keys\n\nmine is\n\n{KEY}")
    (home / "wide.txt").write_text(KEY, encoding="utf-16")
    (home / "packed.txt.gz").write_bytes(gzip.compress(KEY.encode()))
    (home / "page.html").write_text(f"<p>a page</p><pre>{KEY}</pre>")
    with zipfile.ZipFile(home / "backup.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("home/.ssh/id_rsa", CANARY)
        archive.writestr("home/.env", f"PASSWORD={CANARY}")
        archive.writestr("home/letter.txt", "a letter that is no secret")
        archive.writestr("home/innocent.txt", KEY)
    (home / "plain.txt").write_text("this is public enough")
    report = scan(store, home, include_hidden=include_hidden, keep_raw=True)
    kept = {Path(path).name for path in live(store)}
    assert {"plain.txt", "letter.txt"} <= kept
    assert report.errors["private-key"] == 5
    found = cells(store)
    if include_hidden:  # what is merely hidden is taken then, and nothing else
        assert kept - {"plain.txt", "letter.txt", "backup.zip"} == {".hidden.txt", "token.txt"}
    else:
        assert CANARY.encode() not in found
        assert CANARY.encode() not in files_of(store)
        assert b".hidden" not in found, "not even its name"
    with Store.open(store, mode="r") as opened:
        assert check(opened, str(home / "tls.key")).reason == "secret"
        assert check(opened, str(home / ".ssh" / "config")).reason == "secret"
        assert check(opened, str(home / "holiday.txt")).reason == "private-key"
        assert check(opened, str(home / "unsearched" / "x.txt")).reason == "marked"


def test_ignore_files_are_honoured_and_what_they_name_later_is_purged(tmp_path: Path, store: Path) -> None:
    home = tmp_path / "home"
    (home / "sub" / "deep").mkdir(parents=True)
    names = ["a.txt", "a.log", "sub/b.txt", "sub/b.log", "sub/keep.log", "sub/deep/c.txt", "tls.key", "sub/draft.md"]
    for name in names:
        (home / name).write_text(f"{name} {CANARY}")
    (home / ".gitignore").write_text("*.log\n!keep.log\n")
    (home / ".fykeignore").write_text("!tls.key\n")
    scan(store, home, exclude=("draft.*",))

    def kept() -> set[str]:
        return {str(Path(path).relative_to(home)) for path in live(store)}

    assert kept() == {"a.txt", "sub/b.txt", "sub/keep.log", "sub/deep/c.txt", "tls.key"}
    (home / "sub" / ".ignore").write_text("deep/\n")
    (home / ".fykeignore").write_text("tls.key\n/a.txt\n")
    report = scan(store, home)
    assert kept() == {"sub/b.txt", "sub/keep.log"}
    assert (report.purged, report.gone) == (3, 0)
    with Store.open(store, mode="r") as opened:
        assert opened.get(file_url(home / "a.txt")) is None, "no tombstone of what is left out"
        answer = check(opened, str(home / "sub" / "deep" / "c.txt"))
        assert (answer.stored, answer.reason) == (False, "ignored")
        assert "deep/" in answer.detail
    (home / ".fykeignore").write_text("*" * 5000 + "\n[\n!\n**/**/**/x\n\0\xff" + "*a" * 40)
    assert scan(store, home).errors == {}


def test_nobody_else_can_read_the_store(tmp_path: Path, store: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.txt").write_text("mine")
    scan(store, home)
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    store.chmod(0o755)
    with pytest.raises(UserError, match="chmod 700"):
        scan(store, home)


def test_local_files_have_a_store_of_their_own(tmp_path: Path, store: Path) -> None:
    with Store.open(store) as opened:
        opened.put("https://example.org/", raw=b"<p>a page</p>")
    (tmp_path / "home").mkdir()
    with pytest.raises(UserError, match="of their own"):
        scan(store, tmp_path / "home")


@pytest.mark.parametrize("keep_raw", [False, True])
def test_a_purge_leaves_no_byte(tmp_path: Path, store: Path, capfd: pytest.CaptureFixture[str], keep_raw: bool) -> None:
    home = tmp_path / "home"
    (home / "diary").mkdir(parents=True)
    for number in range(40):
        (home / f"{number}.txt").write_text(f"some text number {number}")
    secret = home / "diary" / f"{CANARY}.html"
    secret.write_text(f'<title>{CANARY}</title><p>{CANARY}<a href="http://x.example/{CANARY}">{CANARY}</a></p>')
    with zipfile.ZipFile(home / "diary" / "old.zip", "w") as archive:
        archive.writestr(f"{CANARY}.txt", CANARY)
    scan(store, home, keep_raw=keep_raw)
    assert CANARY.encode() in cells(store)
    secret.write_text(secret.read_text() + " written again")
    scan(store, home)
    (home / "diary" / "old.zip").unlink()
    scan(store, home)
    assert run(["desktop", "purge", str(home / "diary"), "--store", str(store)]) == 2, "it asks"
    assert run(["desktop", "purge", str(home / "diary"), "--store", str(store), "--yes", "--json"]) == 0
    said = capfd.readouterr().out
    assert said == '{"rows":2}\n', "the page, and the tombstone of the archive"
    assert json_schemas.faults("desktop-purge", said) == []
    assert CANARY.encode() not in cells(store)
    assert CANARY.encode() not in files_of(store)
    assert b"diary" not in files_of(store)
    assert len(live(store)) == 40
    scan(store, home)
    assert CANARY.encode() not in files_of(store), "what was purged stays out"
    with Store.open(store, mode="r") as opened:
        assert check(opened, str(secret)).reason == "purged"
    scan(store, home / "diary")
    assert str(secret) in live(store), "until it is named again"
    assert run(["desktop", "purge", "--all", "--store", str(store), "--yes"]) == 0
    assert texts(store) == {}
    assert os.fsencode(home) not in files_of(store)
    assert plans.read(store).roots == ()


def test_a_scan_reaches_for_no_network(tmp_path: Path, store: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.html").write_text('<p>a page</p><img src="http://x.example/i.png"><iframe src="http://x.example/f">')
    with audited("socket.connect", "socket.getaddrinfo", "socket.bind") as reached:
        scan(store, home)
    assert reached == []


def test_a_file_that_is_swapped_for_a_link_is_not_read(tmp_path: Path, store: Path) -> None:
    from fyke.desktop.documents import RefusedFile, read
    from fyke.desktop.state import identity

    outside = tmp_path / "outside.txt"
    outside.write_text(CANARY)
    file = tmp_path / "file.txt"
    file.write_text("mine")
    seen = identity(os.lstat(file))
    file.unlink()
    file.symlink_to(outside)
    with pytest.raises(RefusedFile):
        read(str(file), seen, 1000)
    folder, other = tmp_path / "folder", tmp_path / "other"
    for where, text in ((folder, "mine"), (other, CANARY)):
        where.mkdir()
        (where / "x.txt").write_text(text)
    seen = identity(os.lstat(folder / "x.txt"))
    folder.rename(tmp_path / "gone")
    folder.symlink_to(other)
    with pytest.raises(RefusedFile):
        read(str(folder / "x.txt"), seen, 1000)
