"""A hook of the documentation site: links to files outside docs/ become the file's name.

On the forge such links open the file; the site has only the pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
_LINK = re.compile(r"\[([^\]]+)\]\((\.\.?/[^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = (DOCS / page.file.src_uri).parent

    def replace_outside(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        return f"{link[1]} (`{target.relative_to(DOCS.parent)}` in the repository)"

    return _LINK.sub(replace_outside, markdown)
