"""Pictures of the dashboard for its page in docs/: ``python -m tests.dashboard.screenshots STORE``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.dashboard.driving import driven
from tests.dashboard.serving import serving

DOCS = Path(__file__).parent.parent.parent / "docs" / "dashboard"


def main(store: Path) -> None:
    """Draw the overview in three ways, and a document."""
    DOCS.mkdir(exist_ok=True)
    with serving(store) as served, driven() as tab:
        page = served.get("/search?words=html").body
        rows = re.findall(r'href="(/doc\?[^"]*)"[^\n]*<td class="n">200</td>', page)
        tab.open(f"{served.origin}?t={served.token}")
        tab.picture(str(DOCS / "light.png"), 1200, 1000)
        tab.picture(str(DOCS / "dark.png"), 1200, 1000, dark=True)
        tab.picture(str(DOCS / "phone.png"), 400, 1000)
        tab.open(served.origin[:-1] + rows[0].replace("&amp;", "&"))
        tab.picture(str(DOCS / "document.png"), 1200, 1600)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
