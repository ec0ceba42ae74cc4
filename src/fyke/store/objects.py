"""Object storage as a depot uses it: a directory, S3, Google Cloud Storage or Azure, behind five verbs.

``create`` is the one that everything stands on: it makes an object unless there is one, and of two who try at once one
is told that he came too late. What an object store does wrong (silence, errors, refusals) is a ``DepotError``, and
may be tried again; after one, an object may be there or not.

A directory needs no library: each object is written beside, synced, and linked to its name. The others are
obstore's (the extra ``depot``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from fyke.errors import DepotError, UserError

TIMEOUT = 30.0
"""Seconds for one answer."""
SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "azure")
_OLD = 86_400.0  # seconds after which half an object is nobody's
_NEW = ".new"


class Objects(Protocol):
    """Where objects are kept, by names like ``tablet-03/log/000000000001``. Every verb may raise ``DepotError``."""

    url: str
    """How people name it."""

    def create(self, name: str, data: bytes) -> bool:
        """Make an object, whole and durable; return False, and change nothing, where there is one."""
        ...

    def put(self, name: str, source: bytes | Path) -> None:
        """Make an object of bytes or of a file, in the place of what is there."""
        ...

    def get(self, name: str, limit: int = 0) -> bytes | None:
        """Return an object, or its first ``limit`` bytes; None where there is none."""
        ...

    def download(self, name: str, path: Path) -> bool:
        """Write an object to a new file; return False where there is none."""
        ...

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield names that begin with the folder ``prefix`` (which ends in a slash), and sizes; in no order."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; those that are not there are deleted already."""
        ...


def open_objects(url: str, make: bool = False) -> Objects:
    """Return what a URL or a path names. Raises ``UserError`` for what names nothing that fyke can use.

    With ``make`` a directory that is not there is made.
    """
    scheme, colon, rest = url.partition("://")
    if not colon or scheme == "file":
        path = Path(rest if colon else url)
        if not url or (colon and not rest):
            raise UserError("the depot has no name; give a directory, or s3://bucket/prefix")
        if not make and not path.is_dir():
            raise UserError(f"{path} is no directory, so it is no depot; give a directory, or s3://bucket/prefix")
        return Directory(path)
    if scheme not in SCHEMES:
        raise UserError(f"{url!r} names no depot; give a directory, s3://bucket/prefix, gs://… or az://…")
    if "@" in rest.partition("/")[0]:
        raise UserError("a depot's URL holds no secrets; put them into the environment (AWS_ACCESS_KEY_ID, …)")
    return Remote(url)


def absolute(url: str) -> str:
    """Return a depot's URL so that it names the same from every folder; nothing stays nothing."""
    return url if not url or "://" in url else str(Path(url).absolute())


class Directory:
    """A directory, on a disk or a network file system that knows hard links."""

    _numbers = itertools.count()

    def __init__(self, path: Path) -> None:
        self.url = str(path)
        self._path = path
        self._made: set[Path] = set()
        self._half = path / _NEW
        with contextlib.suppress(OSError):  # whoever uses it is told
            for left in self._half.glob("*"):  # of somebody who was killed
                if time.time() - left.stat().st_mtime > _OLD:
                    left.unlink(missing_ok=True)

    def create(self, name: str, data: bytes) -> bool:
        """Make an object unless there is one (``Objects.create``)."""
        with _told(self.url):
            half = self._write(name, data)
            try:
                os.link(half, self._path / name)
            except FileExistsError:
                return False
            finally:
                half.unlink()
            sync_folder((self._path / name).parent)
        return True

    def put(self, name: str, source: bytes | Path) -> None:
        """Make an object in the place of what is there."""
        with _told(self.url):
            self._write(name, source).replace(self._path / name)
            sync_folder((self._path / name).parent)

    def get(self, name: str, limit: int = 0) -> bytes | None:
        """Return an object, or its first ``limit`` bytes; None where there is none."""
        with _told(self.url):
            try:
                with (self._path / name).open("rb") as file:
                    return file.read(limit or -1)
            except FileNotFoundError:
                return None

    def download(self, name: str, path: Path) -> bool:
        """Copy an object to a new file; return False where there is none."""
        with _told(self.url):
            try:
                shutil.copyfile(self._path / name, path)
            except FileNotFoundError:
                return False
            return True

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield names below a folder, and sizes."""
        with _told(self.url):
            for folder, _, files in os.walk(self._path / prefix):
                if Path(folder) == self._half:
                    continue
                for file in files:
                    path = Path(folder, file)
                    with contextlib.suppress(FileNotFoundError):
                        yield path.relative_to(self._path).as_posix(), path.stat().st_size

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects."""
        with _told(self.url):
            for name in names:
                (self._path / name).unlink(missing_ok=True)

    def _write(self, name: str, source: bytes | Path) -> Path:
        """Write the content of an object where nobody looks, synced."""
        folder = (self._path / name).parent
        if folder not in self._made:
            self._half.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for parent in folder.relative_to(self._path).parents:
                sync_folder(self._path / parent)
            self._made.add(folder)
        half = self._half / f"{os.uname().nodename}-{os.getpid()}-{next(self._numbers)}"
        with half.open("wb") as file:
            if isinstance(source, bytes):
                file.write(source)
            else:
                with source.open("rb") as read:
                    shutil.copyfileobj(read, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
        return half


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Make sentences of what a file system complains about."""
    try:
        yield
    except OSError as error:
        raise DepotError(
            f"the depot {url} fails ({error.strerror or error}); free its disk, or check its rights"
        ) from None


def sync_folder(folder: Path) -> None:
    """Bring what a folder lists to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Remote:
    """Object storage behind obstore. Where it is and who we are, the environment says (``AWS_…``)."""

    def __init__(self, url: str, **config: Any) -> None:
        """``config`` is obstore's, for what the environment does not say."""
        try:
            import obstore.exceptions
            from obstore.store import from_url
        except ImportError:
            raise UserError(
                f"{url} needs the library obstore; install it with `pip install 'fyke[depot]'`, or give a directory"
            ) from None
        self.url = url.rstrip("/")
        self._errors: Any = obstore.exceptions
        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        options: Any = {
            "connect_timeout": timedelta(seconds=5),
            "timeout": timedelta(seconds=TIMEOUT),
            "allow_http": endpoint.startswith("http://"),  # who names one so means it
        }
        # Whoever makes a commit tries it again, with the same bytes: here once more, for a connection that closed.
        retries: Any = {"max_retries": 1, "retry_timeout": timedelta(seconds=TIMEOUT)}
        try:
            self._store: Any = from_url(self.url, client_options=options, retry_config=retries, **config)
        except Exception as error:
            raise UserError(f"{url} cannot be used as a depot: {_first_line(error)}") from None

    def create(self, name: str, data: bytes) -> bool:
        """Make an object unless there is one (``Objects.create``)."""
        with self._told():
            try:
                self._store.put(name, data, mode="create", use_multipart=False)
            except self._errors.AlreadyExistsError:
                return False
        return True

    def put(self, name: str, source: bytes | Path) -> None:
        """Make an object in the place of what is there."""
        with self._told():
            self._store.put(name, source)

    def get(self, name: str, limit: int = 0) -> bytes | None:
        """Return an object, or its first ``limit`` bytes; None where there is none."""
        with self._told():
            try:
                if limit:
                    return bytes(self._store.get_range(name, start=0, end=limit))
                return bytes(self._store.get(name).bytes())
            except FileNotFoundError:
                return None

    def download(self, name: str, path: Path) -> bool:
        """Write an object to a new file; return False where there is none."""
        with self._told():
            try:
                found = self._store.get(name)
            except FileNotFoundError:
                return False
            with path.open("wb") as file:
                for chunk in found.stream(min_chunk_size=1 << 20):
                    file.write(chunk)
        return True

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield names below a folder, and sizes."""
        with self._told():
            for page in self._store.list(prefix):
                for each in page:
                    yield each["path"], each["size"]

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects."""
        left = list(names)
        with self._told():
            for some in (left[start : start + 1000] for start in range(0, len(left), 1000)):
                try:
                    self._store.delete(some)
                except FileNotFoundError:  # of one of them, and some stores stop there
                    for name in some:
                        with contextlib.suppress(FileNotFoundError):
                            self._store.delete(name)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (self._errors.BaseError, OSError) as error:
            raise DepotError(f"the depot {self.url} fails: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
