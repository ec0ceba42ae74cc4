"""``Desktop``: looks at folders, tells what is new, changed, moved or gone, and has the store follow.

The life of a file: seen → new, or changed → read → stored; or moved (its row moves along), or gone (a tombstone), or
left out (taken out for good). ``scan`` does it all once; ``watching.watch`` goes on with what the kernel tells.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from fyke.desktop import documents
from fyke.desktop import plan as plans
from fyke.desktop.converter import Converter, claimed_type
from fyke.desktop.documents import Documents, File, RefusedFile
from fyke.desktop.files import Files
from fyke.desktop.ignore import MAX_BYTES, Policy, Rules, Verdict
from fyke.desktop.plan import Plan, Root
from fyke.desktop.state import Difference, identity, is_inside, is_same, is_unsure, size_and_time
from fyke.desktop.throttle import Throttle
from fyke.desktop.walk import Listing, is_file, mounts, rules_of, walk
from fyke.errors import UserError
from fyke.store import Store
from fyke.store.codec import sha1
from fyke.values import Reason

FILES, BYTES = 64, 4 << 20
"""What is read and written at once."""

Progress = Callable[[int, int], None]
Ask = Callable[[str], bool]
"""Puts a question to the user; raises ``UserError`` where nobody is there."""


class Report(msgspec.Struct):
    """What was seen and done, in files."""

    files: int = 0
    """Seen, and not left out."""
    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    purged: int = 0
    """Taken out, since they are left out now."""
    unchanged: int = 0
    bytes: int = 0
    """Read."""
    left_out: dict[str, int] = {}
    """Files and folders, by reason."""
    errors: dict[str, int] = {}
    """Files without text, by reason."""
    seconds: float = 0.0


@dataclass(slots=True)
class Work:
    """Files that are to be read: what was added last first, and of that the newest."""

    again: set[str] = field(default_factory=set)
    """Those whose rows must be made anew, though their bytes are the same: their names say another type now."""
    _found: dict[str, bytes] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)

    def add(self, found: Mapping[str, bytes]) -> None:
        """Add files with their identities; one that waits already is read once, as it is now."""
        self._found.update(found)
        self._order += sorted(found, key=lambda path: size_and_time(found[path])[1])

    def next(self, files: int = FILES, size: int = BYTES) -> list[tuple[str, bytes]]:
        """Take as many as are read at once."""
        taken: list[tuple[str, bytes]] = []
        while self._found and len(taken) < files and size > 0:
            path = self._order.pop()
            found = self._found.pop(path, None)
            if found is not None:
                taken.append((path, found))
                size -= size_and_time(found)[0]
        if not self._found:
            self._order.clear()
        return taken

    def drop(self, paths: Iterable[str]) -> None:
        """Read some no more: they are elsewhere now, or gone."""
        for path in paths:
            self._found.pop(path, None)

    def __len__(self) -> int:
        return len(self._found)


class Desktop:
    """Local folders and the store that follows them. A context manager. REQUIRES: ``store`` is open to write."""

    def __init__(self, store: Store, plan: Plan, converter: Converter | None = None) -> None:
        self.files = Files(store)
        self._store = store.path
        self.plan = plan
        self.policy: Policy = plan.policy(store.secret)
        self.report = Report()
        self.left_out: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.converter = converter or Converter()
        self._documents = Documents(self.converter, plan.keep_raw, plan.include_hidden)
        self.work = Work()
        self.rules: dict[str, Rules] = {}
        """The rules of every folder that was walked."""

    # ---- looking

    def scan(
        self, roots: Iterable[Root], ask: Ask, progress: Progress | None = None, throttle: Throttle | None = None
    ) -> Report:
        """Look at all files of folders and do what follows; ``progress`` is told how many are done, and of how many."""
        began = time.monotonic()
        throttle = throttle or Throttle(1.0, pauses=False)
        self.work.add(self.apply(self.look(roots, ask), ask))
        total = len(self.work)
        while self.work:
            if wait := throttle.wait():
                time.sleep(wait)
            with throttle.step():
                self.take(self.work.next())
            if progress is not None:
                progress(total - len(self.work), total)
        self.files.sync()
        self.report.seconds = round(time.monotonic() - began, 3)
        return self.told()

    def told(self) -> Report:
        """Return what was done so far."""
        self.report.left_out = dict(self.left_out)
        self.report.errors = dict(self.errors)
        return self.report

    def look(self, roots: Iterable[Root], ask: Ask, visit: Callable[[str], object] = len) -> Difference:
        """Walk folders and compare what is seen with what is known of them. Asks where a folder is not there."""
        difference = Difference()
        self.left_out.clear()
        points = mounts()
        for root in roots:
            known = self.files.known(root.path)
            count = sum(map(len, known.values()))
            why = missing(root, count)
            if why and not ask(f"{why}. Forget the {count:,} files that are known of it?"):
                self.left_out["root-missing"] += 1
                continue
            self._compare(root.path, Rules.of(self.policy, root.path), known, difference, visit)
            here = [point for point in points if is_inside(point, root.path) and point != root.path]
            if not set(here) <= set(self.plan.mounts):
                self.plan = msgspec.structs.replace(self.plan, mounts=tuple(sorted({*self.plan.mounts, *here})))
                plans.write(self._store, self.plan)
        self.report.files = difference.unchanged + len(difference.new) + len(difference.changed)
        self.report.unchanged = difference.unchanged
        return difference

    def _compare(
        self,
        folder: str,
        rules: Rules,
        known: dict[str, dict[str, bytes]],
        difference: Difference,
        visit: Callable[[str], object],
    ) -> None:
        for listing in walk(folder, rules, self._ignore_text, self.left_out, visit):
            if listing.failure:
                _keep_unknown(listing, known)
                continue
            assert listing.rules is not None
            self.rules[listing.folder] = listing.rules
            difference.compare(listing.folder, listing.files, known.pop(listing.folder, {}))
        for left, names in known.items():
            self.rules.pop(left, None)
            difference.compare(left, {}, names)

    def look_below(self, path: str, difference: Difference, visit: Callable[[str], object] = len) -> None:
        """Compare one folder and what is below it; where it is left out now, all that is known of it goes."""
        known = self.files.known(path)
        for folder in [folder for folder in self.rules if is_inside(folder, path)]:
            del self.rules[folder]
        outer = self._outer(path)
        if isinstance(outer, Verdict):
            for folder, names in known.items():
                difference.compare(folder, {}, names)
        else:
            self._compare(path, outer, known, difference, visit)

    def _outer(self, folder: str) -> Rules | Verdict:
        """The rules that apply to a folder before it is entered, or why it is left out."""
        root = next((root.path for root in self.plan.roots if is_inside(folder, root.path)), None)
        if root is None:
            return Verdict("outside")
        rules = Rules.of(self.policy, root)
        if folder == root:
            return rules
        above, name = os.path.split(folder)
        inner = self.rules.get(above) or rules_of(root, above, rules, self._ignore_text)
        return inner if isinstance(inner, Verdict) else inner.verdict(above, name, True) or inner

    def see(self, path: str, difference: Difference, visit: Callable[[str], object] = len) -> None:
        """Look at one file or folder of which something was told."""
        folder, name = os.path.split(path)
        rules = self.rules.get(folder)
        if os.path.isdir(path) and not os.path.islink(path):
            if rules is not None or path in self.rules or any(path == root.path for root in self.plan.roots):
                self.look_below(path, difference, visit)
            return
        if any(is_inside(root.path, path) for root in self.plan.roots):
            return  # a root that is not there is no deletion
        state = self.files.state(path)
        found = is_file(path)
        if path in self.rules:  # it was a folder
            difference.vanished |= self.files.below(path)
            for inner in [inner for inner in self.rules if is_inside(inner, path)]:
                del self.rules[inner]
        taken = found is not None and rules is not None and rules.verdict(folder, name, False) is None
        seen = {name: identity(found)} if found is not None and taken else {}
        difference.compare(folder, seen, {name: state} if state is not None else {})

    def _ignore_text(self, path: str) -> str:
        """What is in an ignore file; opened only if it is not known."""
        found = is_file(path)
        if found is None:
            return ""
        kept = self.files.ignore_text(path, identity(found))
        if kept is not None:
            return kept
        try:
            body = documents.read(path, identity(found), MAX_BYTES).body or b""
        except RefusedFile:
            return ""
        text = body.decode("utf-8", "replace")
        self.files.put_ignore_text(path, identity(found), text)
        return text

    # ---- doing

    def apply(self, difference: Difference, ask: Ask | None) -> dict[str, bytes]:
        """Move, bury and take out what the difference tells; return the files that are to be read.

        ``ask`` is put the question where half of all is gone; None where every deletion was told by the kernel.
        """
        if difference.vanished:
            self._hold_unmounted(difference, told=ask is None)
        hidden = [path for path in difference.vanished if is_file(path)]
        for path in hidden:
            del difference.vanished[path]
        identities = difference.new | difference.changed
        moved = difference.moves()
        gone = list(difference.vanished)
        if ask is not None and difference.is_half_gone(len(gone)):
            total = len(gone) + difference.unchanged + len(difference.changed)
            question = f"{len(gone):,} of {total:,} known files are gone, as if a disk were not mounted. Forget them?"
            if not ask(question):
                self.left_out["held"] += len(gone)
                gone = []
        self.work.drop((*gone, *hidden))
        self.files.move(moved, identities)
        self.files.bury(gone)
        self.files.forget(hidden)
        renamed = {new for old, new in moved.items() if claimed_type(old) != claimed_type(new)}
        self.work.again |= renamed
        self.report.new += len(difference.new)
        self.report.changed += len(difference.changed)
        self.report.moved += len(moved)
        self.report.gone += len(gone)
        self.report.purged += len(hidden)
        return {path: identities[path] for path in (*difference.new, *difference.changed, *renamed)}

    def _hold_unmounted(self, difference: Difference, told: bool) -> None:
        """What is on a disk that is not mounted is not gone, nor what is in a root that is not there.

        Of such a root ``look`` has asked; ``told``: this is no look.
        """
        points = mounts() if self.plan.mounts else {}
        away = [point for point in self.plan.mounts if point not in points]
        away += [root.path for root in self.plan.roots if told and not os.path.isdir(root.path)]
        for point in away:
            for path in [path for path in difference.vanished if is_inside(path, point)]:
                del difference.vanished[path]
                self.left_out["unmounted"] += 1

    def take(self, paths: Iterable[tuple[str, bytes]]) -> list[str]:
        """Read files and store their rows, all in one batch; a mailbox in as many as it takes.

        Returns those that may have been written since they were read.
        """
        whole: list[File] = []
        unsure: list[str] = []
        for path, found in paths:
            state = self.files.state(path)
            if state is not None and is_same(state, found) and path not in self.work.again:
                continue  # a change of it came before its turn
            try:
                file = documents.read(path, found, self.plan.max_file)
            except RefusedFile as refused:
                self.errors[refused.reason] += 1
                if refused.reason != "vanished":
                    self.files.refuse(path, found, refused.reason)
                continue
            self.report.bytes += len(file.body or b"")
            if is_unsure(file.found):
                unsure.append(path)
            if documents.is_mailbox(file):
                self._take_mailbox(file)
            elif not self._is_same(file):
                whole.append(file)
        for file, rows in zip(whole, self._documents.rows(whole), strict=True):
            if isinstance(rows, str):
                self.errors[rows] += 1
                self.files.refuse(file.path, file.found, rows)
            else:
                if rows[0].change.meta.error:
                    self.errors[rows[0].change.meta.error] += 1
                self.files.put(file.path, file.found, rows)
        self.files.write()
        return unsure

    def _is_same(self, file: File) -> bool:
        """Whether the bytes of a file are those of its row: then only its facts are noted."""
        if file.path in self.work.again:
            self.work.again.discard(file.path)
            return False
        if not file.body or self.files.state(file.path) is None:
            return False
        version = self.files.version(file.url)
        if version is None or version.meta.digest != sha1(file.body):
            return False
        self.files.touch(file.path, file.found, self._documents.named(file).change)
        return True

    def _take_mailbox(self, file: File) -> None:
        kept: set[bytes] = set()

        def is_known(url: object, digest: bytes) -> bool:
            version = self.files.version(url)  # type: ignore[arg-type]
            return version is not None and version.meta.digest == digest

        try:
            for message in self._documents.messages(file, self.plan.max_file, is_known):
                if isinstance(message, documents.Row):
                    self.files.put_row(message)
                    kept.add(message.url.key)
                    if self.files.pending() > BYTES:
                        self.files.write()
                else:
                    kept.add(message.key)
        except OSError:
            self.errors[Reason.UNREADABLE] += 1
            return
        self.files.put(file.path, file.found, [self._documents.named(file)], kept)

    def close(self) -> None:
        """End the process that converts."""
        self.converter.close()

    def __enter__(self) -> Desktop:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


def _keep_unknown(listing: Listing, known: dict[str, dict[str, bytes]]) -> None:
    """What is in a folder that cannot be read is as it was."""
    for folder in [folder for folder in known if is_inside(folder, listing.folder)]:
        del known[folder]


def root_of(folder: str) -> Root:
    """Return a folder that was asked for, by its true path. Raises ``UserError`` where there is none."""
    path = os.path.realpath(os.path.expanduser(folder))
    try:
        found = os.stat(path)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; give folders that are there") from None
    if not os.path.isdir(path):
        raise UserError(f"{folder} is no folder; give the folder that it is in")
    return Root(path, found.st_dev, found.st_ino)


def missing(root: Root, known: int) -> str:
    """Say why the folder of which files are known seems not to be there; nothing where it is."""
    try:
        found = os.stat(root.path)
        with os.scandir(root.path) as entries:
            empty = next(entries, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return f"{root.path} is not there" if known else ""
    except OSError:
        return ""  # the walk tells
    if known and empty and (found.st_dev, found.st_ino) != (root.device, root.inode):
        return f"{root.path} is another folder now, and empty, as if a disk were not mounted"
    return ""
