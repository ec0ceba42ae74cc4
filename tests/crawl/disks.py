"""A crawl on a disk that fills or fails in its middle, and is well again: ``python -m tests.crawl.disks KIND FOLDER``.

Prints one line of JSON: what the crawl said and how it ended, and what the store holds after it was resumed. A full
disk is freed once the crawl says that it waits, a broken one is mended once the crawl has ended.
``full`` expects that FOLDER is a small file system of its own; ``broken`` that FOLDER/faults.so is preloaded, which
fails every write below FOLDER/store while FOLDER/broken exists.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.little_site import Answer, page, serving

PAGES = 50
SIZE = 60_000
FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int broken(int fd) {
    const char *folder = getenv("FAULTY_FOLDER");
    char link[64], path[4096], mark[4096];
    if (!folder) return 0;
    snprintf(mark, sizeof mark, "%s/broken", folder);
    if (access(mark, F_OK)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    snprintf(mark, sizeof mark, "%s/store/", folder);
    return !strncmp(path, mark, strlen(mark));
}
#define FAIL(fd) if (broken(fd)) { errno = EIO; return -1; }
ssize_t write(int fd, const void *b, size_t n) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = dlsym(RTLD_NEXT, "write");
    FAIL(fd) return next(fd, b, n);
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
    FAIL(fd) return next(fd, b, n, o);
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { return pwrite64(fd, b, n, o); }
int fsync(int fd) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fsync");
    FAIL(fd) return next(fd);
}
int fdatasync(int fd) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    FAIL(fd) return next(fd);
}
"""


def site() -> dict[str, Answer]:
    """Pages that do not compress."""
    chance = random.Random(1)
    pages = {"/": page("home", *(f"/{n}" for n in range(PAGES)))}
    for n in range(PAGES):
        words = " ".join(f"{chance.getrandbits(64):x}" for _ in range(SIZE // 17))
        pages[f"/{n}"] = page(f"page {n}", text=words)
    return pages


def fyke(*words: str) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    return subprocess.Popen(
        [sys.executable, "-m", "fyke", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def main(kind: str, folder: Path) -> None:
    """Crawl, break the disk once some pages are there, mend it, resume; tell."""
    store, mark = folder / "store", folder / ("ballast" if kind == "full" else "broken")
    with serving(site()) as served:
        words = ["--store", str(store), "--delay", "0", "--agents", "1", "--json", "--no-sitemaps"]
        crawl = fyke("crawl", served.root + "/", *words, "--min-free-disk", "0")
        while len(served.paths) < PAGES // 3 and crawl.poll() is None:
            time.sleep(0.01)
        if kind == "full":
            with mark.open("wb", buffering=0) as ballast:
                try:
                    while ballast.write(bytes(100_000)):
                        pass
                except OSError:
                    pass
        else:
            mark.touch()
        waited = ""
        if kind == "full":
            assert crawl.stderr is not None
            waited = crawl.stderr.readline()
            mark.unlink()
        out, err = crawl.communicate()
        err = waited + err
        mark.unlink(missing_ok=True)
        checked = fyke("store", "check", "--store", str(store), "--json")
        told, complaint = checked.communicate()
        again = fyke("resume", "--store", str(store), "--json")
        more, wrong = again.communicate()
    from fyke.store import Store

    with Store.open(store, "r") as kept:
        pages = sum(row.meta.status == 200 for row in kept.scan(parts=()) if row.versions)
    result = {
        "ended": crawl.returncode, "said": err, "check": told, "complaint": complaint, "checked": checked.returncode,
        "resumed": again.returncode, "resume_said": wrong, "pages": pages,
        "out": out[-300:], "more": more[-300:],
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
