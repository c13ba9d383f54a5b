"""Reject the phrases of `[tool.lean-training.phrases]` in the project's own texts: `python tests/phrases.py`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def found_phrases(text: str, remedies: dict[str, str]) -> list[tuple[int, str, str]]:
    """Return line number, phrase and remedy of every rejected phrase in a text."""
    found = []
    for pattern, remedy in remedies.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            found.append((text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), remedy))
    return sorted(found)


def main() -> int:
    """Check every text that git tracks or would track."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["lean-training"]["phrases"]
    tracked = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--"]
    exempt = [f":(exclude){path}" for path in settings["exempt"]]
    command = [*tracked, *settings["files"], *exempt]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    faults = [
        f"{name}:{line}: '{phrase}': {remedy}"
        for name in names
        if (ROOT / name).is_file()
        for line, phrase, remedy in found_phrases((ROOT / name).read_text(encoding="utf-8"), settings["rejected"])
    ]
    print("\n".join(faults) or f"no rejected phrase in {len(names)} files")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
