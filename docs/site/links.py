"""Finds links of the built site that lead nowhere: `python docs/site/links.py build/site/html`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.images_without_text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(value for name, value in values.items() if name in ("id", "name"))
        self.links += [values[name] for name in ("href", "src") if values.get(name)]
        if tag == "img" and not values.get("alt"):
            self.images_without_text.append(values.get("src", ""))


def faults(root: Path) -> list[str]:
    """Return one line for each local link without a target, and for each picture without a text."""
    pages = {path.resolve(): Page(path) for path in sorted(root.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(root.resolve())
        found += [f"{name}: the picture {source} has no text" for source in page.images_without_text]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name}: the link to {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: the link to {link} leads to no heading of that page")
    return found


def main() -> int:
    """Check the site in the folder that the first argument names."""
    root = Path(sys.argv[1])
    found = faults(root)
    print("\n".join(found) or f"every local link in {len(list(root.rglob('*.html')))} pages has a target")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
