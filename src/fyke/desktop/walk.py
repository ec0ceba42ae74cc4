"""Walking: the files of folders with what the file system says of them, without opening one.

Symbolic links are not followed; pipes, devices and sockets are counted; pseudo file systems (/proc and its like)
are not entered. A folder that cannot be read is told, so that nobody takes its files for deleted.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fyke.desktop.ignore import Rules, Verdict
from fyke.desktop.state import identity

STORE = "fyke-store.json"
"""What makes a folder a store: no store is read into a store."""
_PSEUDO = frozenset(
    [
        "proc",
        "sysfs",
        "devtmpfs",
        "devpts",
        "cgroup",
        "cgroup2",
        "securityfs",
        "debugfs",
        "tracefs",
        "pstore",
        "bpf",
        "configfs",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "binfmt_misc",
        "efivarfs",
        "autofs",
        "rpc_pipefs",
        "nsfs",
    ]
)
_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.gvfsd-fuse",
        "davfs",
    ]
)


@dataclass(slots=True)
class Listing:
    """What one folder holds that is taken."""

    folder: str
    files: dict[str, bytes] = field(default_factory=dict)
    """Names with their identities (``state.identity``)."""
    rules: Rules | None = None
    """What is left out of it; None where it cannot be read."""
    failure: str = ""
    """Why the folder cannot be read: its files are unknown, not gone."""


def walk(
    root: str, rules: Rules, text: Callable[[str], str], left_out: Counter[str], visit: Callable[[str], object] = len
) -> Iterator[Listing]:
    """Yield the listing of ``root`` and of every folder below it that is taken.

    ``text`` reads an ignore file, ``left_out`` counts by reason, ``visit`` is told of a folder before it is listed.
    """
    pseudo = {point for point, kind in mounts().items() if kind in _PSEUDO}
    pending = [(root, rules)]
    while pending:
        folder, outer = pending.pop()
        visit(folder)
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError as error:
            reason = "denied" if isinstance(error, PermissionError) else "unreadable"
            if isinstance(error, FileNotFoundError | NotADirectoryError) and folder != root:
                continue  # it went meanwhile
            left_out[f"folder-{reason}"] += 1
            yield Listing(folder, failure=error.strerror or reason)
            continue
        inner = outer.enter(folder, {entry.name for entry in listed}, text)
        if isinstance(inner, Verdict):
            left_out[inner.reason] += 1
            continue
        yield _listing(folder, listed, inner, left_out, pending, pseudo)


def _listing(
    folder: str,
    listed: list[os.DirEntry[str]],
    rules: Rules,
    left_out: Counter[str],
    pending: list[tuple[str, Rules]],
    pseudo: set[str],
) -> Listing:
    found = Listing(folder, rules=rules)
    files, verdict = found.files, rules.verdict
    for entry in listed:
        name = entry.name
        try:
            if entry.is_symlink():
                left_out["symlink"] += 1
            elif entry.is_dir(follow_symlinks=False):
                why = verdict(folder, name, True)
                if why is not None:
                    left_out[why.reason] += 1
                elif entry.path not in pseudo and not os.path.exists(os.path.join(entry.path, STORE)):
                    pending.append((entry.path, rules))
            elif not entry.is_file(follow_symlinks=False):
                left_out["special"] += 1
            elif (why := verdict(folder, name, False)) is not None:
                left_out[why.reason] += 1
            else:
                files[name] = identity(entry.stat(follow_symlinks=False))
        except OSError:  # it went meanwhile
            left_out["vanished"] += 1
    return found


def rules_of(root: str, path: str, rules: Rules, text: Callable[[str], str]) -> Verdict | Rules:
    """Return the rules of the folder at ``path``, or why it is left out; ``rules`` are those of ``root``."""
    folder = root
    for name in (*Path(path).relative_to(root).parts, ""):
        try:
            entered = rules.enter(folder, frozenset(os.listdir(folder)), text)
        except OSError as error:
            return Verdict("folder-unreadable", f"{folder}: {error.strerror}")
        if isinstance(entered, Verdict) or not name:
            return entered
        why = entered.verdict(folder, name, True)
        if why is not None:
            return why
        rules, folder = entered, os.path.join(folder, name)
        if os.path.islink(folder):
            return Verdict("symlink", f"{folder} is a symbolic link; name where it leads")
        if os.path.exists(os.path.join(folder, STORE)):
            return Verdict("store", f"{folder} is a store of fyke's")
    raise AssertionError("the last name is empty")


def mounts() -> dict[str, str]:
    """Return where file systems are mounted, with their types; nothing where the system does not tell."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = fields.split()[4]
        found[point.encode("latin-1", "replace").decode("unicode_escape") if "\\" in point else point] = rest.split()[0]
    return found


def is_network(path: str, known: dict[str, str]) -> bool:
    """Whether a path lies on a file system that is another machine's: nobody tells what changes there."""
    while path not in known and path != "/":
        path = os.path.dirname(path)
    return known.get(path, "") in _NETWORK


def is_file(path: str) -> os.stat_result | None:
    """Return what the file system says of a file; None where there is none, or it is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def true_path(said: str) -> str:
    """Return the path by which a store knows a file or folder that a user names; a link itself is not followed."""
    path = os.path.abspath(os.path.expanduser(said))
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)).rstrip("/") or "/"
