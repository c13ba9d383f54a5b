"""A reference table runs edits of its reference and names the one that yields an answer."""

from __future__ import annotations

import math

import pytest
from reference_tables import BITS, make_table, round_up, size_cases, size_of

from grader.judging.misconceptions import Misconception, TableError
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable

HALF = Misconception("halved", "You halve it.", {"numbers * bits": "numbers * bits / 2"})
NEXT = Misconception("next", "You add one.", {"math.ceil(size)": "math.ceil(size) + 1"})


def yields(edit):
    return [edit(case) for case in size_cases(3)]


def test_the_truth_is_what_the_reference_yields():
    table = make_table(BITS)
    assert table.truths(3) == yields(lambda case: case.numbers * case.bits / 8)
    assert table.answer(3, table.truths(3)).is_right


def test_the_edit_that_yields_the_answer_is_named():
    table = make_table(BITS, HALF)
    assert table.find(table.answer(3, yields(lambda case: case.numbers * case.bits))) is BITS
    assert table.find(table.answer(3, yields(lambda case: math.ceil(case.numbers * case.bits / 16)))) is HALF
    assert table.find(table.answer(3, yields(lambda case: 5))) is None


def test_an_edit_may_change_any_part_of_the_reference():
    table = make_table(NEXT)
    assert table.find(table.answer(3, [truth + 1 for truth in table.truths(3)])) is NEXT
    assert round_up(1.5) == 2  # the reference itself is as it was


def test_an_edit_has_to_yield_every_value():
    table = make_table(BITS)
    first, second = table.truths(3)
    assert table.find(table.answer(3, [8 * first, second])) is None
    assert table.find(table.answer(3, [8 * first, second]).only(0)) is BITS


def test_what_is_right_shows_nothing():
    half = Misconception(
        "halved_if_large", "You halve it.", {"size = numbers": "size = (numbers > 100 or 2) * numbers"}
    )
    table = make_table(half)
    first, second = table.truths(3)
    assert table.find(table.answer(3, [5, second]).only(1)) is None
    assert table.find(table.answer(3, [first, 2 * second])) is half


def test_several_ways_to_write_a_misconception_share_its_code():
    bits = Misconception("bits", "You return bits.", {" / 8": ""}, variants=[{" / 8": " / 4"}])
    table = make_table(bits)
    for factor in (8, 2):
        assert (
            table.find(table.answer(3, yields(lambda case, factor=factor: factor * case.numbers * case.bits / 8)))
            is bits
        )


def test_values_of_the_visible_case_are_named():
    table = make_table(BITS)
    assert table.find(table.answer(3, table.truths(0))).code == "visible_case_hard_coded"


def test_a_part_of_each_value_is_explained():
    def both(numbers):
        return {"bytes": 4 * numbers, "numbers": numbers}

    table = ReferenceTable(
        both,
        Misconception("doubles", "You count doubles.", {"4 * numbers": "8 * numbers"}),
        run=lambda both, case: both(case.numbers),
        cases=size_cases,
    )
    answer = table.answer(3, yields(lambda case: {"bytes": 8 * case.numbers, "numbers": -1}))
    assert table.find(answer) is None
    part = answer.part("bytes")
    assert table.find(part).code == "doubles"
    assert (part.case, part.value, part.truth) == (size_cases(3)[0], 8 * 1021, 4 * 1021)


def test_of_misconceptions_that_share_a_part_the_one_nearest_to_the_answer_is_named():
    def ends(numbers):
        last = numbers - 1
        return {"first": 0, "last": last, "count": numbers}

    from_one = Misconception("from_one", "You count from 1.", {'"first": 0': '"first": 1', "numbers - 1": "numbers"})
    one_too_far = Misconception("one_too_far", "You go one too far.", {'"last": last': '"last": numbers'})
    table = ReferenceTable(ends, from_one, one_too_far, run=lambda ends, case: ends(case.numbers), cases=size_cases)
    for first, code in ((0, "one_too_far"), (1, "from_one")):
        answer = table.answer(
            3, yields(lambda case, first=first: {"first": first, "last": case.numbers, "count": None})
        )
        assert table.find(answer) is None
        assert table.find(answer.part("last")).code == code


def test_an_edit_that_raises_matches_no_answer():
    broken = Misconception("broken", "You divide by zero.", {" / 8": " / 0"})
    table = make_table(broken, BITS)
    assert table.find(table.answer(3, yields(lambda case: case.numbers * case.bits))) is BITS
    assert "ZeroDivisionError" in table.values(table.versions["broken"][0], 3)[0].error


def test_an_error_of_the_reference_itself_is_raised():
    table = ReferenceTable(size_of, BITS, run=lambda size_of, case: size_of(None, case.bits), cases=size_cases)
    with pytest.raises(TypeError):
        table.truths(3)


def test_values_are_computed_when_needed_and_once():
    calls = []

    def run(size_of, case):
        calls.append(case)
        return size_of(case.numbers, case.bits)

    table = ReferenceTable((size_of, round_up), BITS, HALF, run=run, cases=size_cases)
    assert not calls
    table.find(table.answer(3, [1, 1]))
    assert len(calls) == 2 + 2  # both truths, and of each edit the first case, which rules it out
    table.find(table.answer(3, [1, 1]))
    assert len(calls) == 4


def test_values_agree_within_the_tolerance():
    table = ReferenceTable(
        (size_of, round_up),
        BITS,
        run=lambda size_of, case: size_of(case.numbers, case.bits),
        cases=size_cases,
        is_near=within(relative=1e-3),
    )
    assert table.answer(3, [1.0009 * truth for truth in table.truths(3)]).is_right
    assert not table.answer(3, [1.002 * truth for truth in table.truths(3)]).is_right


def test_an_answer_has_one_value_for_each_case():
    with pytest.raises(ValueError, match="1 answers to 2 cases"):
        make_table(BITS).answer(3, [1])


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"* bytes": ""}, r"'wrong' replaces '\* bytes', which is 0 times in size_of, round_up: copy it from there"),
        ({"size": "sizes"}, "'wrong' replaces 'size', which is 1?[0-9] times in .*: take in more of its line"),
        ({"bits / 8": "bits", "/ 8\n": "/ 9\n"}, "'wrong' has edits that overlap"),
        ({" / 8": " / ("}, "'wrong' leaves a line that does not compile"),
    ],
)
def test_an_edit_that_does_not_apply_is_refused_when_the_table_is_made(edits, message):
    with pytest.raises(TableError, match=message):
        make_table(Misconception("wrong", "You are wrong.", edits))
