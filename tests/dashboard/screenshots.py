"""Pictures of the dashboard for its page in docs/: ``python -m tests.dashboard.screenshots STORE``."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.dashboard.serving import chromium, serving, shown

DOCS = Path(__file__).parent.parent.parent / "docs" / "dashboard"
DARK = "--blink-settings=preferredColorScheme=0"


def main(store: Path) -> None:
    """Draw the overview in three ways, and a document."""
    program = chromium()
    DOCS.mkdir(exist_ok=True)
    with serving(store) as served, tempfile.TemporaryDirectory() as folder:
        page = served.get("/search?words=html").body
        rows = re.findall(r'href="(/doc\?[^"]*)"[^\n]*<td class="n">200</td>', page)
        document = rows[0].replace("&amp;", "&") + "&"
        for name, path, size, *options in (
            ("light", "/?", "1200,1000"),
            ("dark", "/?", "1200,1000", DARK),
            ("phone", "/?", "500,1000"),
            ("document", document, "1200,1400"),
        ):
            address = f"{served.origin[:-1]}{path}t={served.token}"
            picture = f"--screenshot={DOCS / name}.png"
            shown(program, Path(folder), address, picture, f"--window-size={size}", "--hide-scrollbars", *options)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
