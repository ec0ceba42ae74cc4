"""What is left out: hidden files, keys, password stores, browser profiles, caches, and what ignore files say.

Who decides about a name, the first that has an opinion: ``.fykeignore`` of the folder and of those above it (the
nearest first, ``!`` takes back in), ``--exclude``, our own list, then ``.gitignore`` and ``.ignore``. What a folder
that is left out holds is never looked at. Ignore files are git's (gitignore(5)); pathspec reads them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from pathspec import GitIgnoreSpec

OWN = ".fykeignore"
OTHERS = (".gitignore", ".ignore")
MARKS = frozenset({".nosearch", ".trackerignore", ".nomedia", "CACHEDIR.TAG"})
"""A folder that holds one of these is left out."""
PROFILES = frozenset({
    "logins.json", "key3.db", "key4.db", "signons.sqlite", "cookies.sqlite", "Login Data", "private-keys-v1.d",
    ".gpg-id",
})  # fmt: skip
"""What only profiles of browsers and mail programs, key rings and password stores hold: their folder is left out."""
_SECRET_FOLDERS = frozenset({
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".password-store", ".pki", ".mozilla",
    "keyrings", "keychains", "google-chrome", "chromium", "bravesoftware", "microsoft-edge", "vivaldi", "opera",
})  # fmt: skip
_CACHE_FOLDERS = frozenset({
    "node_modules", "bower_components", "__pycache__", "cache", "caches", "cache2", "gpucache", "code cache",
    ".cache", ".git", ".svn", ".hg", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".trash",
    ".trash-1000", ".thumbnails", "lost+found", "$recycle.bin",
})  # fmt: skip
_SECRET_ENDINGS = (
    ".kdbx", ".kdb", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".keychain", ".keychain-db", ".env",
    "_history",
)  # fmt: skip
_SECRET_STARTS = (".env", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials")
_SECRET_NAMES = re.compile(r"\..*history|id_[^.]*(?:\.pub)?")

_TEMPORARY_ENDINGS = ("~", ".swp", ".swo", ".part", ".crdownload")

MAX_BYTES, MAX_LINES, MAX_LINE, MAX_STARS = 1 << 20, 10_000, 1000, 10
"""What is read of an ignore file. A pattern with many stars may take for ever."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a file or folder is left out."""

    reason: str
    """``hidden``, ``secret``, ``cache``, ``temporary``, ``excluded``, ``ignored``, ``marked``, ``purged``: counted."""
    detail: str = ""


HIDDEN = Verdict("hidden", "its name begins with a dot; --include-hidden takes such files in")
SECRET = Verdict("secret", "names like this hold keys, passwords or browser profiles; only .fykeignore takes them in")
CACHE = Verdict("cache", "a cache, or a program's own folder")
TEMPORARY = Verdict("temporary", "a program's backup or half of a file")
PURGED = Verdict("purged", "it was purged; name it as DIR of `fyke desktop` to have it again")
PRIVATE_KEY = Verdict("private-key", "it holds a private key")


@dataclass(frozen=True, slots=True)
class _Patterns:
    """An ignore file, or what ``--exclude`` says, for all that is below a folder."""

    folder: str
    source: str
    lines: tuple[str, ...]
    spec: GitIgnoreSpec = field(repr=False, compare=False)

    @classmethod
    def parse(cls, folder: str, source: str, text: str) -> _Patterns:
        lines = tuple(_bounded(text))
        try:
            return cls(folder, source, lines, GitIgnoreSpec.from_lines(lines))
        except ValueError:
            lines = tuple(line for line in lines if _is_pattern(line))
            return cls(folder, source, lines, GitIgnoreSpec.from_lines(lines))

    def check(self, path: str, is_folder: bool) -> tuple[bool | None, str]:
        """Whether a path is out (True), in again (False) or not spoken of, and which line says so."""
        inner = path[len(self.folder) :].lstrip("/") + "/" * is_folder
        found = self.spec.check_file(inner)
        line = self.lines[found.index] if found.index is not None else ""
        return found.include, f"{self.source}: {line}"


def _bounded(text: str) -> list[str]:
    return [
        line if len(line) <= MAX_LINE and line.count("*") <= MAX_STARS else ""
        for line in text.replace("\0", "").splitlines()[:MAX_LINES]
    ]


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user says of everything."""

    exclude: tuple[str, ...] = ()
    include_hidden: bool = False
    purged: frozenset[str] = frozenset()
    """Marks of paths that were purged (``purge_mark``): a path's name would be a byte of it."""
    secret: int = 0
    """Seeds these marks."""

    def is_purged(self, path: str) -> bool:
        """Whether a path itself was purged."""
        return bool(self.purged) and purge_mark(path, self.secret) in self.purged


def purge_mark(path: str, secret: int) -> str:
    """Return what tells that a path was purged, and does not tell the path to who does not know it."""
    return hashlib.blake2b(os.fsencode(path), digest_size=16, key=secret.to_bytes(8, "big")).hexdigest()


class Rules:
    """What is left out of one folder. Rules of an inner folder are made by ``enter``."""

    __slots__ = ("_excluded", "_others", "_own", "_policy")

    def __init__(
        self,
        policy: Policy,
        excluded: tuple[_Patterns, ...] = (),
        own: tuple[_Patterns, ...] = (),
        others: tuple[_Patterns, ...] = (),
    ) -> None:
        self._policy, self._excluded, self._own, self._others = policy, excluded, own, others

    @classmethod
    def of(cls, policy: Policy, root: str) -> Rules:
        """Return the rules of a root; what ``--exclude`` says of absolute paths is said of those in it."""
        text = "\n".join(line.removeprefix(root) if line.startswith(root + "/") else line for line in policy.exclude)
        return cls(policy, (_Patterns.parse(root, "--exclude", text),) if text else ())

    def enter(self, folder: str, names: Collection[str], text: Callable[[str], str]) -> Rules | Verdict:
        """Return the rules inside a folder with these names, or why it is left out. ``text`` reads an ignore file."""
        for mark in MARKS:
            if mark in names:
                return Verdict("marked", f"{folder} holds {mark}")
        if not PROFILES.isdisjoint(names) and OWN not in names:
            return SECRET
        own, others = self._own, self._others
        if OWN in names:
            own = (_Patterns.parse(folder, os.path.join(folder, OWN), text(os.path.join(folder, OWN))), *own)
        for name in OTHERS:
            if name in names:
                path = os.path.join(folder, name)
                others = (_Patterns.parse(folder, path, text(path)), *others)
        unchanged = own is self._own and others is self._others
        return self if unchanged else Rules(self._policy, self._excluded, own, others)

    def verdict(self, folder: str, name: str, is_folder: bool) -> Verdict | None:
        """Return why something in a folder is left out; None where it is taken."""
        policy = self._policy
        if policy.purged and policy.is_purged(os.path.join(folder, name)):
            return PURGED
        if self._own or self._excluded:
            path = os.path.join(folder, name)
            for patterns in self._own:
                said, detail = patterns.check(path, is_folder)
                if said is not None:
                    return Verdict("ignored", detail) if said else None
            for patterns in self._excluded:
                said, detail = patterns.check(path, is_folder)
                if said:
                    return Verdict("excluded", detail)
        found = by_name(name, is_folder, policy.include_hidden)
        if found is not None:
            return found
        for patterns in self._others:
            said, detail = patterns.check(os.path.join(folder, name), is_folder)
            if said is not None:
                return Verdict("ignored", detail) if said else None
        return None


def by_name(name: str, is_folder: bool, include_hidden: bool = False) -> Verdict | None:
    """Return why a name is left out wherever it stands; None where it is not."""
    low = name.lower()
    if is_folder:
        if low in _SECRET_FOLDERS:
            return SECRET
        if low in _CACHE_FOLDERS:
            return CACHE
    elif low.endswith(_SECRET_ENDINGS) or low.startswith(_SECRET_STARTS) or _SECRET_NAMES.fullmatch(low):
        return SECRET
    elif low.endswith(_TEMPORARY_ENDINGS) or low.startswith("~$"):
        return TEMPORARY
    return HIDDEN if name.startswith(".") and not include_hidden else None


_HEADERS = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY"
    rb"|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1"
)
_HINTS = (b"PRIVATE KEY", b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-1")


def holds_private_key(data: bytes) -> bool:
    """Whether there is a private key in bytes or in a text, wherever it stands."""
    return any(hint in data for hint in _HINTS) and _HEADERS.search(data) is not None
