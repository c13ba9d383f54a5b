"""environment.yml, pyproject.toml and constraints.txt say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = "lean-training"


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if "==" in line]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def test_the_pip_part_installs_what_the_lab_does_from_the_pinned_set() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *conda, last = environment["dependencies"]
    assert last == {"pip": ["--constraint constraints.txt", "--editable .[lab]"]}
    assert environment["name"] == OWN and "pip" in conda
    (python,) = [entry.removeprefix("python=") for entry in conda if entry.startswith("python=")]
    assert SpecifierSet(SETTINGS["requires-python"]).contains(python)
    assert "lab" in SETTINGS["optional-dependencies"]


def test_every_package_that_an_extra_names_is_pinned_within_its_range() -> None:
    pinned = pins()
    wanted = [Requirement(text) for extra in SETTINGS["optional-dependencies"].values() for text in extra]
    for requirement in wanted:
        if requirement.name != OWN:
            version = pinned[re.sub(r"[-_.]+", "-", requirement.name).lower()]
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: pinned to {version}"


def test_installing_the_package_alone_installs_nothing_else() -> None:
    assert SETTINGS["dependencies"] == []
