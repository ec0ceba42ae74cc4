"""Confinement: a process gives up for good what no conversion needs: network, writing, other processes, most files.

Three means, each where the kernel has it (Linux); ``offered`` says which:

- ``no_new_privs``: nothing that it runs has more rights than it.
- Landlock: of the file system it sees Python, the libraries and the kernels' cache, and writes nothing. It holds for
  the calling thread and those that it starts, so it comes before an engine starts its own.
- seccomp: a filter of system calls for all threads. Sockets, writing, processes, signals to others, tracing, mounts and
  the like fail with EPERM, as if they were not allowed (they are not). What is left is reading, memory and threads.

Beside them: limits of address space, processor time, file sizes and descriptors (``bound``). None of it can be undone.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

DESCRIPTORS = 128
"""Files that a worker may have open: its pipes, libraries that are being loaded, an engine's queues."""
_RESERVED = 500_000_000
"""Bytes of address space that allocators may reserve without using them."""
_NO_NEW_PRIVS, _PARENT_DEATH = 38, 1  # prctl
_SECCOMP, _LANDLOCK = {"x86_64": 317, "aarch64": 277}, 444
_FILTER, _TSYNC = 1, 1
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_KILL, _EPERM, _ENOSYS, _ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x7FFF0000
_THREAD = 0x00010000  # CLONE_THREAD
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights to files that a version of Landlock knows."""
_SYSTEM = (
    "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf", "/dev/null", "/dev/zero",
    "/dev/urandom", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/sys/fs/cgroup",
)  # fmt: skip

# name: number on x86_64, number on aarch64 (-1: there is none)
_FORBIDDEN = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "fork": (57, -1), "vfork": (58, -1), "execve": (59, 221), "execveat": (322, 281), "creat": (85, -1),
    "truncate": (76, 45), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, -1),
    "mkdirat": (258, 34), "rmdir": (84, -1), "unlink": (87, -1), "unlinkat": (263, 35), "link": (86, -1),
    "linkat": (265, 37), "symlink": (88, -1), "symlinkat": (266, 36), "chmod": (90, -1), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, -1), "lchown": (94, -1), "fchownat": (260, 54), "mknod": (133, -1),
    "mknodat": (259, 33), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429),
    "open_tree": (428, 428), "fsopen": (430, 430), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "swapon": (167, 224),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "personality": (135, 92),
}  # fmt: skip
_ABSENT = {"clone3": (435, 435), "openat2": (437, 437)}
"""What the C library does without: the arguments lie in memory, where no filter sees them."""
_OPENING = {"open": (2, -1, 1), "openat": (257, 56, 2)}
"""And which argument holds the flags."""
_TO_ITSELF = {"kill": (62, 129), "tgkill": (234, 131)}
_CLONE = (56, 220)
_SENDTO = (44, 206)
"""Without an address it is how event loops wake themselves, over a pair of sockets that they have."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def offered() -> dict[str, str]:
    """Return what this machine offers for confinement, by name; empty where it does not offer it."""
    linux = sys.platform.startswith("linux")
    version = _landlock_version() if linux else 0
    filters = linux and platform.machine() in _ARCH and os.path.exists("/proc/sys/kernel/seccomp")  # noqa: PTH110
    return {
        "no_new_privs": "yes" if linux else "",
        "seccomp": "yes" if filters else "",
        "landlock": f"version {version}" if version else "",
    }


def begin() -> None:
    """Give up new privileges, and end when the thread that started this process does."""
    if sys.platform.startswith("linux"):
        _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        _libc.prctl(_PARENT_DEATH, 9, 0, 0, 0)


def see_only(paths: Iterable[str]) -> bool:
    """Let this thread, and those that it starts, read below ``paths`` and Python's own, and write nowhere."""
    version = _landlock_version() if sys.platform.startswith("linux") else 0
    if not version:
        return False
    rights = _FS_RIGHTS[max(known for known in _FS_RIGHTS if known <= version)]
    ruleset = struct.pack("QQQ", rights, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _libc.syscall(_LANDLOCK, ruleset, ctypes.c_size_t(size), 0)
    if rules < 0:
        return False
    try:
        for path in {*_SYSTEM, *_python(), *paths}:
            with suppress(OSError):
                _allow(rules, path)
        return bool(_libc.syscall(_LANDLOCK + 2, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ_FILE | (_READ_DIR if Path(path).is_dir() else 0)
        _libc.syscall(_LANDLOCK + 1, rules, 1, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _python() -> Iterable[str]:
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, *(path for path in sys.path if path)}


def _landlock_version() -> int:
    return max(0, int(_libc.syscall(_LANDLOCK, None, ctypes.c_size_t(0), 1)))


def forbid() -> bool:
    """Forbid all threads the system calls that no conversion makes. REQUIRES: ``begin``."""
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in _ARCH:
        return False
    code = _filter(_ARCH[machine], 0 if machine == "x86_64" else 1)
    program = _Program(len(code) // 8, code)
    return bool(_libc.syscall(_SECCOMP[machine], _FILTER, _TSYNC, ctypes.byref(program)) == 0)


def _filter(arch: int, column: int) -> bytes:
    """Return the filter as BPF: eight bytes an instruction (code, jump if true, jump if false, number)."""
    load, equal, any_bit, reach, give = 0x20, 0x15, 0x45, 0x35, 0x06
    out: list[tuple[int, int, int, int]] = []

    def numbers(table: Mapping[str, tuple[int, ...]]) -> list[int]:
        return [row[column] for row in table.values() if row[column] >= 0]

    def give_if(wanted: Sequence[int], action: int) -> None:
        for number in wanted:
            out.extend([(equal, 0, 1, number), (give, 0, 0, action)])

    def low_word(argument: int) -> tuple[int, int, int, int]:
        return load, 0, 0, 16 + 8 * argument

    out += [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    out += [(reach, 0, 1, 0x40000000), (give, 0, 0, _KILL)]  # x86's third set of numbers
    give_if(numbers(_FORBIDDEN), _EPERM)
    give_if(numbers(_ABSENT), _ENOSYS)
    for row in _OPENING.values():
        if row[column] >= 0:
            out += [(equal, 0, 4, row[column]), low_word(row[2]), (any_bit, 0, 1, _WRITING)]
            out += [(give, 0, 0, _EPERM), (give, 0, 0, _ALLOW)]
    for number in numbers(_TO_ITSELF):
        out += [(equal, 0, 4, number), low_word(0), (equal, 0, 1, os.getpid())]
        out += [(give, 0, 0, _ALLOW), (give, 0, 0, _EPERM)]
    out += [(equal, 0, 6, _SENDTO[column]), low_word(4), (equal, 0, 3, 0), (load, 0, 0, 16 + 8 * 4 + 4)]
    out += [(equal, 0, 1, 0), (give, 0, 0, _ALLOW), (give, 0, 0, _EPERM)]
    out += [(equal, 0, 4, _CLONE[column]), low_word(0), (any_bit, 0, 1, _THREAD)]
    out += [(give, 0, 0, _ALLOW), (give, 0, 0, _EPERM)]
    out.append((give, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in out)


def bound(memory: int) -> None:
    """Let memory grow by ``memory`` bytes at most, and no file at all; no core dumps, few descriptors.

    What counts is what can be written to; the address space has room beside it, since allocators reserve in advance.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    with suppress(OSError, ValueError):  # where there is no /proc, or no such limit, the time limit remains
        whole, _, _, _, _, data, _ = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split())
        for limit, pages, room in (
            (resource.RLIMIT_AS, whole, memory + _RESERVED),
            (resource.RLIMIT_DATA, data, memory),
        ):
            most = pages * resource.getpagesize() + room
            resource.setrlimit(limit, (most, most))


def allow_seconds(seconds: float) -> None:
    """Let this process compute for so long from now on, on all of its threads together; the system then ends it.

    The system counts whole seconds: up to one more.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = resource.RLIM_INFINITY if seconds == math.inf else math.ceil(used.ru_utime + used.ru_stime + seconds)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
