"""Media types from bytes: what the bytes show beats what was declared, and a name alone is never believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats import sniff
from fyke.formats.sniff import sniff as kind


@pytest.mark.parametrize(
    ("data", "declared", "name", "found"),
    [
        (b"%PDF-1.4 ...", "text/html", "x.docx", sniff.PDF),
        (b"<!DOCTYPE html><p>x", "", "x.pdf", sniff.HTML),
        (b"  <HTML>", "application/octet-stream", "", sniff.HTML),
        (b"<p>hello", "text/plain", "x.txt", sniff.TEXT),
        (b"<p>hello", "", "x.txt", sniff.HTML),
        (b"just words", "text/html", "", sniff.HTML),
        (b"just words", "", "x.pdf", sniff.TEXT),
        (b"just words", "", "", sniff.TEXT),
        (b"a,b\n1,2", "", "x.csv", sniff.CSV),
        (b"# T", "", "README.md", sniff.MARKDOWN),
        (b"\x00\x01\x02\x03binary\x00", "text/html", "x.html", sniff.BINARY),
        (b"<?xml version='1.0'?><rss version='2.0'>", "text/html", "", sniff.RSS),
        (b"<?xml version='1.0'?><feed>", "", "", sniff.ATOM),
        (b"<?xml version='1.0'?><html xmlns='x'>", "", "", sniff.XHTML),
        (b"From a@b Mon\nFrom: a@b\n\nx", "", "", sniff.MBOX),
        (b"From: a@b\nTo: c@d\nSubject: x\n\nx", "", "", sniff.EMAIL),
        (b"\\documentclass{article}", "", "", sniff.LATEX),
        (b"{\\rtf1 x}", "application/msword", "x.doc", sniff.RTF),
        ("﻿<p>wide".encode("utf-16-le"), "", "", sniff.HTML),
        (b"", "text/html", "", sniff.HTML),
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
            assert found == sniff.BY_NAME[entry["format"]], entry["file"]


@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_any_bytes_have_a_type(data: bytes, declared: str, name: str) -> None:
    assert kind(data, declared, name) is not None
