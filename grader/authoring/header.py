"""The two cells that open a released notebook: the Colab badge, and a set-up that does nothing elsewhere."""

from __future__ import annotations

from .repository import RepositoryAddress

BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})"
NOTEBOOK = "https://colab.research.google.com/github/{repository}/blob/{branch}/course/{stem}.ipynb"
PACKAGE = "git+https://github.com/{repository}@{branch}"
SET_UP = """\
# Set-up for Colab: installs the course's checks and meters. Elsewhere this cell does nothing.
import subprocess
import sys

if "google.colab" in sys.modules:
    package = "lean-training @ {package}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)"""


def badge_cell(stem: str, address: RepositoryAddress) -> str:
    """Return the text of the cell that opens the lesson on Colab."""
    link = NOTEBOOK.format(repository=address.repository, branch=address.branch, stem=stem)
    return BADGE.format(link=link)


def set_up_cell(address: RepositoryAddress) -> str:
    """Return the code of the cell that installs the package on Colab, and nothing else."""
    return SET_UP.format(package=PACKAGE.format(repository=address.repository, branch=address.branch))
