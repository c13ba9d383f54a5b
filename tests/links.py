"""Finds relative links in the repository's Markdown that lead nowhere: `python tests/links.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def broken_links(page: Path) -> list[str]:
    """Return "page: link" for every relative link whose file does not exist."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [first or second for first, second in LINK.findall(text)]
    relative = [target for target in targets if "://" not in target and not target.startswith(("#", "mailto:"))]
    missing = [target for target in relative if not (page.parent / target.partition("#")[0]).exists()]
    return [f"{page.relative_to(ROOT)}: the link to {target} leads nowhere" for target in missing]


def main() -> int:
    """Check every Markdown file that git tracks or would track."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    pages = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    broken = [line for page in pages if (ROOT / page).exists() for line in broken_links(ROOT / page)]
    print("\n".join(broken) or f"every relative link in {len(pages)} pages leads to a file")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
