"""Every table of the package proves itself; tables that would name an answer wrongly do not."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from reference_tables import BITS, make_table

import grader.judging
from grader.judging.misconceptions import Misconception, Table
from grader.judging.proof import UnprovenError, prove


def find_tables() -> dict[str, Table]:
    """Return each table that is a name of a module of the package."""
    found = {}
    for module in pkgutil.walk_packages(grader.judging.__path__, "grader.judging."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Table) and id(value) not in map(id, found.values()):
                    found[f"{module.name.removeprefix('grader.judging.')}.{name}"] = value
    return found


TABLES = find_tables()


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_its_misconceptions(name):
    prove(TABLES[name])


def test_a_bank_or_a_test_shows_every_misconception_that_no_edit_of_a_reference_proves():
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("*.py")]
    named = {code for text in texts for code in re.findall(r"[\"']([a-z0-9_]+)[\"']", text)}
    shown = named | {code.removeprefix(f"{form}_") for code in named for form in ("accelerate", "trainer")}
    unshown = [
        f"{name}: {misconception.code}"
        for name, table in TABLES.items()
        for misconception in table.misconceptions
        if misconception.shown_by is not None and misconception.code not in shown
    ]
    assert not unshown


def test_a_table_of_the_package_is_found():
    assert "lessons.number_formats.limits.TABLE" in TABLES


@pytest.mark.parametrize(
    ("misconception", "message"),
    [
        (
            Misconception("same", "You do the same.", {"/ 8": "/ 8.0"}),
            "'same' gives the reference's values at seed 1, on all of .SizeCase.numbers=1007",
        ),
        (
            Misconception("double_bits", "You count bits.", {"bits / 8": "bits"}),
            "the values of 'double_bits' are named 'bits_for_bytes' at seed 1; the first that is wrong is 16112 on the "
            "case SizeCase.numbers=1007",
        ),
        (
            Misconception("broken", "You divide by zero.", {"/ 8": "/ 0"}),
            "'broken' raises ZeroDivisionError: .* at seed 1, on the case SizeCase.numbers=1007",
        ),
        (Misconception("Upper", "You shout.", {"/ 8": "/ 9"}), "the code 'Upper' is not made of lower-case words"),
        (Misconception("riddle", "the division: by what?", {"/ 8": "/ 9"}), "the diagnosis of 'riddle' is not made of"),
        (Misconception("passive", "Bits are returned.", {"/ 8": "/ 9"}), "the diagnosis of 'passive' is not made of"),
    ],
)
def test_a_table_that_would_name_an_answer_wrongly_is_not_proved(misconception, message):
    with pytest.raises(UnprovenError, match=message):
        prove(make_table(BITS, misconception))


def test_misconceptions_that_coincide_say_so():
    prove(
        make_table(BITS, Misconception("rounded", "You count bits.", {"bits / 8": "bits"}, same_as=("bits_for_bytes",)))
    )


def test_a_predicate_that_takes_the_answers_of_an_edit_is_found_out():
    with pytest.raises(UnprovenError, match="'bits_for_bytes' are named 'anything'"):
        prove(make_table(Misconception("anything", "You answer.", shown_by=lambda answer: True), BITS))
