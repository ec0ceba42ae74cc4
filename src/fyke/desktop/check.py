"""``check``: whether a file is in the store, since when, and if not, why not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from fyke.desktop import plan as plans
from fyke.desktop.documents import iso, read
from fyke.desktop.files import Files
from fyke.desktop.ignore import MAX_BYTES, PRIVATE_KEY, PURGED, Rules, Verdict
from fyke.desktop.state import SIZE, identity, is_inside, known_of
from fyke.desktop.walk import is_file, rules_of, true_path
from fyke.store import Store
from fyke.store.imports.files import file_url


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a path."""

    path: str
    stored: bool
    """It has a row."""
    reason: str = ""
    """Why it is not there, or has no text; ``outdated`` where it has changed since."""
    detail: str = ""
    since: str = ""
    """When it was first taken."""
    updated: str = ""
    """When its row was last made."""
    url: str = ""
    type: str = ""
    owner: str = ""
    mode: str = ""


def check(store: Store, said: str) -> Answer:
    """Return what the store knows of a file or folder. Opens no file but ignore files."""
    path = true_path(said)
    plan, files = plans.read(store.path), Files(store)
    state = files.state(path)
    if state is not None:
        return _known(files, path, state)
    url = file_url(Path(path))
    why = _why_not(store, plan, path)
    if why is None and os.path.isdir(path):
        count = files.count_below(path)
        return Answer(path, count > 0, "" if count else "unscanned", f"a folder, {count:,} rows")
    why = why or Verdict("unscanned", "nothing keeps it out; the next scan takes it")
    version = store.get(url)
    since = iso(version.stamp / 1e6) if version is not None and version.meta.error == "gone" else ""
    return Answer(path, False, "gone" if since and not os.path.lexists(path) else why.reason, why.detail, updated=since)


def _known(files: Files, path: str, state: bytes) -> Answer:
    known, url = known_of(state), file_url(Path(path))
    found, version = is_file(path), files.version(url)
    if version is None:
        detail = PRIVATE_KEY.detail if known.reason == PRIVATE_KEY.reason else "it could not be read"
        return Answer(path, False, known.reason, detail, iso(known.since))
    facts = files.facts(url.key)
    reason, detail = version.meta.error, ""
    if found is None or identity(found)[8:] != state[8:SIZE]:
        reason, detail = "outdated", "it has changed, or is gone, since its row was made; the next scan sees it"
    return Answer(
        path, True, reason, detail, iso(known.since), iso(version.stamp / 1e6), url.href, version.meta.type,
        facts.owner if facts is not None else "", facts.mode if facts is not None else "",
    )  # fmt: skip


def _why_not(store: Store, plan: plans.Plan, path: str) -> Verdict | None:
    """Why a path that is not known is left out; None where nothing says so."""
    root = next((root.path for root in plan.roots if is_inside(path, root.path)), None)
    if root is None:
        return Verdict("outside", "no folder of this store holds it")
    policy = plan.policy(store.secret)
    above = path
    while is_inside(above, root):
        if policy.is_purged(above):
            return PURGED
        above = os.path.dirname(above) if above != "/" else ""
    try:
        found = os.lstat(path)
    except OSError as error:
        return Verdict("missing", error.strerror or "")
    folder, name = os.path.split(path) if path != root else (root, "")
    rules = rules_of(root, folder, Rules.of(policy, root), _text)
    if isinstance(rules, Verdict) or not name:
        return rules if isinstance(rules, Verdict) else None
    if stat.S_ISLNK(found.st_mode):
        return Verdict("symlink", "symbolic links are not followed; name where it leads")
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return Verdict("special", "a pipe, device or socket")
    is_folder = stat.S_ISDIR(found.st_mode)
    why = rules.verdict(folder, name, is_folder)
    if why is None and is_folder:
        inner = rules_of(root, path, Rules.of(policy, root), _text)
        return inner if isinstance(inner, Verdict) else None
    return why


def _text(path: str) -> str:
    found = is_file(path)
    if found is None:
        return ""
    return (read(path, identity(found), MAX_BYTES).body or b"").decode("utf-8", "replace")
