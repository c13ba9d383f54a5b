"""Write the two cells that open a released notebook: the Colab badge, and a set-up for Colab alone."""

from __future__ import annotations

import re

from .repository import RepositoryAddress

BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})"
NOTEBOOK = "https://colab.research.google.com/github/{repository}/blob/{branch}/course/{stem}.ipynb"
PACKAGE = "lean-training{extra} @ git+https://github.com/{repository}@{branch}"
# Libraries that Colab lacks, by the name under which a lesson imports them, and the extra that brings them.
EXTRAS = {"bitsandbytes": "eight-bit", "peft": "adapters", "torchao": "float8"}
# In a lesson with the Trainer and without peft: transformers imports peft with its Trainer wherever it is installed.
WITHOUT_PEFT = """\


# The Trainer imports peft where it is installed, which takes a second or two. No cell here uses it: it is left out.
sys.modules.setdefault("peft", None)"""
SET_UP_TITLE = "# Set-up for Colab: installs the course's checks and meters. Elsewhere it installs nothing."
SET_UP = """\
{title}
import subprocess
import sys

if "google.colab" in sys.modules:
    package = "{package}"
    print("installing the course's checks and meters: about a minute")
    command = [sys.executable, "-m", "pip", "install", "--quiet", package]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{{package}} was not installed. Run this cell again; pip said:\\n{{done.stderr}}")
    print("installed")"""


def badge_cell(stem: str, address: RepositoryAddress) -> str:
    """Return the text of the cell that opens the lesson on Colab."""
    link = NOTEBOOK.format(repository=address.repository, branch=address.branch, stem=stem)
    return BADGE.format(link=link)


def set_up_cell(address: RepositoryAddress, code: str = "") -> str:
    """Return the code of the cell that installs the package on Colab, with what Colab lacks, and nothing else.

    In a lesson that imports transformers and not peft it also keeps the Trainer from importing peft.

    Args:
        address: Where pip finds the package.
        code: The lesson's own code, which says what it imports.
    """
    extras = [extra for name, extra in EXTRAS.items() if _imports(name, code)]
    named = f"[{','.join(extras)}]" if extras else ""
    package = PACKAGE.format(extra=named, repository=address.repository, branch=address.branch)
    cell = SET_UP.format(title=SET_UP_TITLE, package=package)
    return cell + WITHOUT_PEFT if _imports("transformers", code) and not _imports("peft", code) else cell


def _imports(name: str, code: str) -> bool:
    return re.search(rf"^(?:import|from) {name}\b", code, re.MULTILINE) is not None
