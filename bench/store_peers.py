"""The store's peers in bench/store.py: bare RocksDB, SQLite, a file per document, WARC with its offsets."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import zstandard
from rocksdict import WriteBatch

from fyke.formats.warc_write import WarcWriter
from fyke.store import Page, Store
from fyke.store.cells import cell_key, pack_page, unpack_page
from fyke.store.codec import LEVEL, sha1
from fyke.store.rocks import Memory, open_primary
from fyke.url import Url
from fyke.values import Exchange

HEAD = b'HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nETag: "5f3"\r\n\r\n'
REQUEST = b"GET / HTTP/1.1\r\nHost: example\r\nUser-Agent: fyke\r\nAccept: */*\r\n\r\n"


class Bare:
    """RocksDB with the same options and the same compressors, and nothing of rows."""

    def __init__(self, path: Path, store: Store) -> None:
        self.db = open_primary(path, Memory.make())
        self.page, self.meta = (self.db.get_column_family_handle(name) for name in ("page", "meta"))
        self.compressors: dict[str, zstandard.ZstdCompressor] = {}
        self.dictionaries: dict[str, zstandard.ZstdCompressionDict] = {}
        for tablet in store.tablets():
            known = {identity.hex(): data for identity, data in tablet.ledger.dictionaries()}
            for host in tablet.ledger.hosts():
                if host.dictionary:
                    dictionary = zstandard.ZstdCompressionDict(known[host.dictionary])
                    dictionary.precompute_compress(level=LEVEL)
                    self.dictionaries[host.name] = dictionary
                    self.compressors[host.name] = zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary)
        self.plain = zstandard.ZstdCompressor(level=LEVEL)

    def compress(self, host: str, data: bytes) -> bytes:
        return self.compressors.get(host, self.plain).compress(data)

    def decompressors(self) -> dict[str, zstandard.ZstdDecompressor]:
        return {host: zstandard.ZstdDecompressor(dict_data=d) for host, d in self.dictionaries.items()}

    def put(self, url: Url, body: bytes) -> None:
        key = url.key
        batch = WriteBatch(raw_mode=True)
        batch.put(cell_key(key, 1), self.compress(url.host, pack_page(Page(REQUEST, HEAD, body))), self.page)
        batch.put(key, sha1(body) * 4, self.meta)
        self.db.write(batch)


class Sqlite:
    """SQLite with a write-ahead log, a transaction per page, and the same compressors."""

    def __init__(self, path: Path, bare: Bare) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("CREATE TABLE page (url TEXT PRIMARY KEY, meta BLOB, body BLOB) WITHOUT ROWID")
        self.bare = bare
        self.plain = zstandard.ZstdDecompressor()
        self.unpack = bare.decompressors()

    def put(self, url: Url, body: bytes) -> None:
        packed = self.bare.compress(url.host, pack_page(Page(REQUEST, HEAD, body)))
        self.db.execute("INSERT INTO page VALUES (?, ?, ?)", (url.href, sha1(body) * 4, packed))

    def get(self, url: Url) -> bytes:
        (packed,) = self.db.execute("SELECT body FROM page WHERE url = ?", (url.href,)).fetchone()
        return unpack_page(self.unpack.get(url.host, self.plain).decompress(packed)).body


class Files:
    """A file per document, zstd each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.pack, self.unpack = zstandard.ZstdCompressor(level=LEVEL), zstandard.ZstdDecompressor()

    def put(self, url: Url, body: bytes) -> None:
        (self.path / sha1(url.key).hex()).write_bytes(self.pack.compress(body))

    def get(self, url: Url) -> bytes:
        return self.unpack.decompress((self.path / sha1(url.key).hex()).read_bytes())


def warc_bytes(pages: list[tuple[Url, bytes]]) -> tuple[bytes, dict[str, int]]:
    """A WARC of the pages, and where each record begins: what a CDXJ index would say."""
    out, ids, places = io.BytesIO(), iter(range(1 << 30)), {}
    writer = WarcWriter(out, lambda: f"urn:uuid:{next(ids):032x}")
    for url, body in pages:
        places[url.href] = writer.exchange(
            url.href, Exchange(REQUEST, HEAD, body, 200, 1e9, 1e9), media_type="text/html"
        ).offset
    return out.getvalue(), places
