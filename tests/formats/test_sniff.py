"""Media types from bytes: what the bytes show beats what was declared, and a name alone is never believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats import media_types
from fyke.formats.sniff import sniff as kind


@pytest.mark.parametrize(
    ("data", "declared", "name", "found"),
    [
        (b"%PDF-1.4 ...", "text/html", "x.docx", media_types.PDF),
        (b"<!DOCTYPE html><p>x", "", "x.pdf", media_types.HTML),
        (b"  <HTML>", "application/octet-stream", "", media_types.HTML),
        (b"<p>hello", "text/plain", "x.txt", media_types.TEXT),
        (b"<p>hello", "", "x.txt", media_types.HTML),
        (b"just words", "text/html", "", media_types.HTML),
        (b"just words", "", "x.pdf", media_types.TEXT),
        (b"just words", "", "", media_types.TEXT),
        (b"a,b\n1,2", "", "x.csv", media_types.CSV),
        (b"# T", "", "README.md", media_types.MARKDOWN),
        (b"\x00\x01\x02\x03binary\x00", "text/html", "x.html", media_types.BINARY),
        (b"<?xml version='1.0'?><rss version='2.0'>", "text/html", "", media_types.RSS),
        (b"<?xml version='1.0'?><feed>", "", "", media_types.ATOM),
        (b"<?xml version='1.0'?><html xmlns='x'>", "", "", media_types.XHTML),
        (b"From a@b Mon\nFrom: a@b\n\nx", "", "", media_types.MBOX),
        (b"From: a@b\nTo: c@d\nSubject: x\n\nx", "", "", media_types.EMAIL),
        (b"\\documentclass{article}", "", "", media_types.LATEX),
        (b"{\\rtf1 x}", "application/msword", "x.doc", media_types.RTF),
        ("﻿<p>wide".encode("utf-16-le"), "", "", media_types.HTML),
        ("<p>wider".encode("utf-32-le"), "", "", media_types.HTML),
        ("just words".encode("utf-32-be"), "", "", media_types.TEXT),
        (b"", "text/html", "", media_types.HTML),
    ],
)
def test_what_bytes_are(data: bytes, declared: str, name: str, found: str) -> None:
    assert kind(data, declared, name) == found


def test_every_misnamed_file_is_known_by_its_bytes(shared_data: Path) -> None:
    folder = shared_data / "convert"
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("trait") == "misnamed":
            found = kind((folder / entry["file"]).read_bytes(), "", entry["file"])
            assert found == media_types.BY_ENDING[entry["format"]], entry["file"]


@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_any_bytes_have_a_type(data: bytes, declared: str, name: str) -> None:
    assert "/" in kind(data, declared, name)
