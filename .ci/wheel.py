"""Build a platform wheel: the pure one, with the kernels compiled for PORTABLE_CPU in ``fyke/compiled``.

``make wheel`` runs it with the Python that the wheel is for; ``python .ci/wheel.py DIR [SET]``. Its metadata pins numba
and llvmlite exactly, since what they compiled is only used with them (fyke.bits.jit); anything else in the way (another
processor, say) and kernels are compiled as ever.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from fyke.bits import kernelkeys

ROOT = Path(__file__).parent.parent


def compiled(folder: Path, kernels: str) -> list[Path]:
    """Compile for the portable processor; return the files, and the mark that says that all are there."""
    processor = {"NUMBA_CPU_NAME": kernelkeys.PORTABLE_CPU, "NUMBA_CPU_FEATURES": kernelkeys.PORTABLE_FEATURES}
    environment = {**os.environ, **processor, "FYKE_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-m", "fyke", "warm", kernels], env=environment, check=True)  # noqa: S603
    return [path for path in sorted((folder / "kernels").iterdir()) if not path.name.startswith("lock-")]


def pure(folder: Path) -> Path:
    """Build the wheel that runs anywhere."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)  # noqa: S603
    (made,) = folder.glob("*.whl")
    return made


def rewritten(source: Path, kernels: list[Path], out: Path) -> Path:
    """Write the wheel anew with the kernels, its tag and its pins."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"
    target = out / source.name.replace("py3-none-any", tag)
    out.mkdir(parents=True, exist_ok=True)
    record: list[str] = []
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:

        def put(name: str, data: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
            new.writestr(name, data)

        index = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".dist-info/METADATA"):
                pins = "".join(f"Requires-Dist: {one}=={metadata.version(one)}\n" for one in ("numba", "llvmlite"))
                data = re.sub(rb"Requires-Dist: numba[^\n]*\n", pins.encode(), data)
            elif name.endswith(".dist-info/WHEEL"):
                data = data.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                data = re.sub(rb"Tag: [^\n]*\n", f"Tag: {tag}\n".encode(), data)
            if name != index:
                put(name, data)
        for path in kernels:
            put(f"fyke/compiled/{path.name}", path.read_bytes())
        new.writestr(index, "".join(record) + f"{index},,\n")
    return target


def main(out: Path, kernels: str = "all") -> None:
    """Build into ``out``."""
    with tempfile.TemporaryDirectory(prefix="fyke-wheel-") as scratch:
        folder = Path(scratch)
        files = compiled(folder / "cache", kernels)
        made = rewritten(pure(folder / "pure"), files, out)
    print(f"{made}: {len(files)} kernels for {kernelkeys.PORTABLE_CPU}, {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
