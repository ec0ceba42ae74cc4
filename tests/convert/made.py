"""Files made on the spot, and what becomes of them."""

from __future__ import annotations

import io
import zipfile

from fyke.convert import convert_here, prepare
from fyke.values import Document


def converted(data: bytes | str, name: str = "", media_type: str | None = None) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return convert_here(prepare(raw, media_type, name=name))


def zipped(*members: tuple[str, bytes | str], stored: bool = True) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()
