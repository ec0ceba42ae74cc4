"""A store in which everything that a stranger can choose tries to run a script."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fyke.crawl.run import status
from fyke.crawl.run.status import AgentStatus
from fyke.store import RowMeta, Settings, Store
from fyke.values import Meta

CORPUS = (
    "<script>console.log('owned')</script>",
    "<img src=x onerror=console.log('owned')>",
    "\"><svg onload=console.log('owned')>",
    "'><iframe srcdoc='<script>console.log(1)</script>'>",
    "</title><script>console.log('owned')</script>",
    "{{ 7*7 }}{% for x in y %}",
    "javascript:console.log('owned')",
    "\u202egnp.exe \x00\x1b[31m",
    "<style>*{display:none}</style>",
    "<base href=//evil.test/>",
    "<meta http-equiv=refresh content='0;url=//evil.test/'>",
    "\ud800 &lt;b&gt; &#60;script&#62;",
)
URL = "http://xss.test/<script>console.log('owned')</script>?q=\"><svg/onload=console.log('owned')>"


def hostile_store(path: Path) -> Path:
    """Rows, versions, links, anchors, metadata, copies, errors, reports and log, all hostile."""
    everything = " ".join(CORPUS)
    with Store.open(path, settings=Settings(tablets=2)) as store:
        for number, text in enumerate(CORPUS):
            safe = text.encode("utf-8", "replace").decode()
            store.put(
                f"{URL}&n={number}", raw=text.encode("utf-8", "replace"), text=f"{text}\n{everything}", title=text,
                links=[(f"http://xss.test/{number}?{safe}", text)],
                anchors={f"http://other.test/?{safe}": text}, fetched=1.7e9 + number,
            )  # fmt: skip
            store.put(f"http://failed.test/{number}?{safe}", meta=RowMeta(error=safe))
            said = Meta(author=safe, description=safe, site=safe, licence=safe, canonical=safe)
            meta = RowMeta(document=said, type=safe, language=safe, duplicate_of=URL, duplicate_by=safe)
            store.put(f"http://copy.test/{number}", raw=b"<p>a copy", text=text, meta=meta)
        for when in (1.6e9, 1.65e9, 1.7e9):
            store.put(
                URL,
                raw=everything.encode("utf-8", "replace"),
                text=f"{everything}\nof {when}",
                title=everything,
                fetched=when,
            )
    now = time.time()
    told = [text.encode("utf-8", "replace").decode() for text in CORPUS]
    counters = {f"{kind}:{text}": 3 for kind in ("errors", "dropped", "duplicates") for text in told} | {"pages": 14}
    pairs = dict(zip(told, reversed(told), strict=True))
    report = AgentStatus(
        1, 0, os.getpid(), now, now - 60, counters=counters, queued=9, waiting="closed", waiting_host=told[0],
        waiting_detail=told[1], waiting_until=now + 50, troubles=pairs, demoted=pairs,
    )  # fmt: skip
    status.write(path, report)
    (path / "fyke.log").write_text("\n".join(told), encoding="utf-8")
    return path
