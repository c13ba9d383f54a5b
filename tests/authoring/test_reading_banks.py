from __future__ import annotations

import ast
from pathlib import Path

import pytest
import toy

from grader.authoring.bank_rules import bank_problems
from grader.authoring.banks import Entry, read_banks
from grader.authoring.errors import BuildError, Problem
from grader.authoring.lesson import read_lesson
from grader.authoring.normalise import normalised

EDIT = '# %% edit="off" code="code_100"\n# Source: a thought.\n'
SUM = "# -     total_of_both = first + second + OFFSET\n"
LOOP = """\
    total = 0

    for number in (first, second):
        total += number
        total += 0
    total += 0
    print(total)
    print(total)
    return total"""
LOOP_LESSON = toy.LESSON.replace("    total_of_both = first + second + OFFSET\n    return total_of_both", LOOP)
HUNKS = """\
# -     total = 0
# +     total = 1
#
# ...
#           total += 0
# -     total += 0
#       print(total)
"""


@pytest.fixture
def banked(course: Path) -> Path:
    toy.make_banks(course)
    return course


def read_entries(root: Path) -> list[Entry]:
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    return [entry for bank in read_banks(root, lesson) for entry in bank.entries]


def form_problem(root: Path, cell: str) -> Problem:
    """The only problem of form after a cell was added to a bank of wrong answers."""
    added(root, cell)
    with pytest.raises(BuildError) as caught:
        read_entries(root)
    (problem,) = caught.value.problems
    assert problem.path == toy.bank(root, "add", "wrong")
    assert problem.remedy
    return problem


def added(root: Path, cell: str, exercise: str = "add", kind: str = "wrong") -> int:
    """Add a cell to a bank; return its line."""
    path = toy.bank(root, exercise, kind)
    text = path.read_text() + "\n\n"
    path.write_text(text + cell)
    return text.count("\n") + 1


def edited(root: Path, lines: str) -> str:
    """Return the answer to `add` that an edit gives."""
    added(root, EDIT + lines)
    (entry,) = (entry for entry in read_entries(root) if entry.name == "off")
    return entry.source


def problems(root: Path) -> list[str]:
    """The problems of the banks that need no run."""
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    found = bank_problems(lesson, read_banks(root, lesson))
    assert all(problem.remedy for problem in found)
    return [f"{problem.path.name}:{problem.line}: {problem.fault}" for problem in found]


def test_a_whole_answer_takes_the_place_of_the_exercise_cell(banked: Path) -> None:
    line = added(banked, toy.wrong_cell("add", "far", "first * 1000", "code_100"))
    entry = next(entry for entry in read_entries(banked) if entry.name == "far")
    assert entry.source.endswith("def add(first, second):\n    return first * 1000")
    assert (entry.kind, entry.code, entry.seed, entry.line) == ("wrong", "code_100", None, line)


def test_an_edit_changes_lines_of_the_solution(banked: Path) -> None:
    lines = f"# More prose.\n{SUM}# +     total_of_both = first - second + OFFSET\n#       return total_of_both\n"
    solution = read_lesson(banked / "solutions" / f"{toy.STEM}.py").cell_of("add").source
    answer = edited(banked, lines)
    assert ast.dump(ast.parse(answer)) == ast.dump(ast.parse(solution.replace("first + second", "first - second")))
    assert "SOLUTION" not in answer


def test_an_edit_may_have_several_hunks_and_empty_lines(banked: Path) -> None:
    (banked / "solutions" / f"{toy.STEM}.py").write_text(LOOP_LESSON)
    answer = edited(banked, HUNKS)
    body = LOOP.replace("    total = 0", "    total = 1", 1).replace("\n    total += 0", "")
    assert answer.endswith(body)


def test_an_edit_reaches_the_given_lines_of_the_exercise_cell(banked: Path) -> None:
    lines = "# + import math\n# +\n#   def add(first: int, second: int) -> int:\n"
    assert edited(banked, lines).startswith("import math\n\ndef add(")


@pytest.mark.parametrize(
    "lines, line, fault",
    [
        ("# -     return first\n", 3, "the edit does not apply: the solution has no line '    return first'"),
        ("# -   total += 0\n", 3, "the edit does not apply: the solution has no line '  total += 0'"),
        (
            "#       total = 0\n# -     return total\n",
            3,
            "the edit does not apply: its kept and removed lines occur 0 times in the solution",
        ),
        (
            "# -     print(total)\n",
            3,
            "the edit does not apply: its kept and removed lines occur 2 times in the solution",
        ),
        (
            "# -     return total\n# ...\n# -     total = 0\n",
            5,
            "the hunk starts before the one above it ends",
        ),
        ("#       return total\n", 3, "the hunk changes nothing"),
        ("# More prose.\n", 1, "the edit is empty"),
        (
            "# -     return total\nreturn 1\n",
            4,
            "this line belongs to no edit: return 1",
        ),
        ("# -     return total\n# Prose.\n", 4, "this line belongs to no edit: # Prose."),
    ],
    ids=["gone", "indented otherwise", "apart", "twice", "out of order", "unmarked", "empty", "code", "prose"],
)
def test_an_edit_that_does_not_apply_exactly_once_is_rejected(banked: Path, lines: str, line: int, fault: str) -> None:
    (banked / "solutions" / f"{toy.STEM}.py").write_text(LOOP_LESSON)
    problem = form_problem(banked, EDIT + lines)
    start = toy.bank(banked, "add", "wrong").read_text().split("\n").index(EDIT.split("\n")[0])
    assert (problem.line - start, problem.fault) == (line, fault)


@pytest.mark.parametrize(
    "header, fault",
    [
        ('answer="off"', "the wrong answer declares no code"),
        ('answer="off" code="unrecognised"', "the wrong answer declares no code"),
        ('answer="off" code="two words"', "the wrong answer declares no code"),
        ('answer="off" edit="off" code="code_100"', "the cell is neither an edit nor an answer"),
        ('code="code_100"', "the cell is neither an edit nor an answer"),
        ('answer="two words" code="code_100"', "the cell is neither an edit nor an answer"),
        ('[markdown] answer="off" code="code_100"', "the cell is neither an edit nor an answer"),
        ('answer="off" code="code_100" points=2', "unknown cell key 'points'"),
        ('answer="off" code="code_100" seed="x"', "seed='x' is no whole number"),
    ],
)
def test_the_header_of_an_answer_is_checked(banked: Path, header: str, fault: str) -> None:
    problem = form_problem(banked, f"# %% {header}\n# Source: a thought.\n{toy.function('add', '1')}")
    assert problem.fault == fault
    assert problem.line > 1


def test_a_right_answer_declares_no_code(banked: Path) -> None:
    added(banked, toy.wrong_cell("add", "way_9", "second + first + 0", "code_100"), kind="right")
    with pytest.raises(BuildError, match="unknown cell key 'code'"):
        read_entries(banked)


def test_every_fault_of_form_is_reported_at_once(banked: Path) -> None:
    added(banked, '# %% answer="off"\ndef add(): ...\n\n# %% edit="gone" code="code_100"\n# - gone\n')
    toy.bank(banked, "sum", "wrong").write_text('# %% answer="odd" code="code_100"\n1\n')
    toy.bank(banked, "double", "right").write_text("# No cell.\n")
    with pytest.raises(BuildError) as caught:
        read_entries(banked)
    assert [problem.fault for problem in caught.value.problems] == [
        "the wrong answer declares no code",
        "the edit does not apply: the solution has no line 'gone'",
        "the file has no cell",
        "07_sums has no exercise 'sum'",
    ]


def test_full_banks_have_no_static_problem(banked: Path) -> None:
    assert problems(banked) == []


def test_a_bank_may_open_with_a_paragraph(banked: Path) -> None:
    path = toy.bank(banked, "add", "wrong")
    path.write_text('"""Wrong answers to add."""\n\n' + path.read_text())
    assert problems(banked) == []
    assert read_entries(banked)[0].line == 3


def test_a_thin_bank_is_a_problem(banked: Path) -> None:
    wrong, right = toy.bank(banked, "add", "wrong"), toy.bank(banked, "add", "right")
    wrong.write_text(wrong.read_text().rpartition("# %%")[0])
    right.unlink()
    assert problems(banked) == [
        "add.wrong.py:0: 7 wrong answers, fewer than 8",
        "add.right.py:0: 0 right answers, fewer than 3",
    ]


def test_a_catalogue_is_a_problem(banked: Path) -> None:
    for number in range(16):
        added(banked, toy.wrong_cell("add", f"far_{number}", str(200 + number), "code_100"))
    assert problems(banked) == []
    added(banked, toy.wrong_cell("add", "one_more", "300", "code_100"))
    assert problems(banked) == ["add.wrong.py:0: 25 wrong answers, more than 24"]


@pytest.mark.parametrize("name", toy.OBLIGATORY)
def test_an_obligatory_wrong_answer_is_missed_unless_the_bank_says_why(banked: Path, name: str) -> None:
    path = toy.bank(banked, "last", "wrong")
    text = path.read_text().replace(f'"{name}"', '"other"')
    for opening in ("", f"# Not here: {name}\n", f"# Not here: {name}, because\n"):
        path.write_text(opening + text)
        assert problems(banked) == [f"last.wrong.py:0: the obligatory wrong answer '{name}' is missing"]
    path.write_text(f"# Wrong answers to last.\n# Not here: {name}, because a list has one last number.\n{text}")
    assert problems(banked) == []


def test_an_exercise_by_hand_owes_the_library_shortcut(banked: Path) -> None:
    source = banked / "solutions" / f"{toy.STEM}.py"
    source.write_text(toy.LESSON.replace("Return twice a number.", "Return twice a number, by hand."))
    assert problems(banked) == ["double.wrong.py:0: the obligatory wrong answer 'library_shortcut' is missing"]
    path = toy.bank(banked, "double", "wrong")
    path.write_text(path.read_text().replace('"returns_0"', '"library_shortcut"'))
    assert problems(banked) == []


def test_two_cells_with_one_name_are_a_problem(banked: Path) -> None:
    line = added(banked, toy.wrong_cell("add", "returns_0", "200", "code_100"))
    assert problems(banked) == [f"add.wrong.py:{line}: a second answer is named 'returns_0'"]


def test_names_and_origins_of_answers_are_checked(banked: Path) -> None:
    first = added(banked, toy.wrong_cell("double", "elsewhere", "1", "code_100"))
    second = added(banked, toy.wrong_cell("add", "anonymous", "1", "code_100", comment="# No origin."))
    third = added(banked, toy.wrong_cell("add", "broken", "(", "code_100"))
    assert problems(banked) == [
        f"add.wrong.py:{first}: 'elsewhere' defines no function 'add'",
        f"add.wrong.py:{second}: 'anonymous' does not say where it comes from",
        f"add.wrong.py:{third}: 'broken' defines no function 'add'",
    ]


def test_an_exception_as_code_needs_a_reason(banked: Path) -> None:
    cell = toy.wrong_cell("add", "breaking", "[][0]", "raised_index_error")
    line = added(banked, cell)
    assert problems(banked) == [
        f"add.wrong.py:{line}: 'breaking' declares the name of an exception, 'raised_index_error'"
    ]
    path = toy.bank(banked, "add", "wrong")
    reason = "# Source: a thought.\n# Because: Python names the empty list.\n"
    path.write_text(path.read_text().replace(cell, cell.replace("# Source: a thought.\n", reason)))
    assert problems(banked) == []


def test_an_answer_equal_to_the_solution_or_to_another_is_a_problem(banked: Path) -> None:
    first = added(
        banked, "# %% answer='same'\ndef double(n):\n    '''Twice.'''\n    return 2 * n  # two\n", "double", "right"
    )
    second = added(banked, toy.right_cell("double", "twin", "sum([number, number])"), "double", "right")
    third = added(banked, toy.wrong_cell("add", "triplet", "103", "code_100"))
    assert problems(banked) == [
        f"add.wrong.py:{third}: 'triplet' is the same answer as returns_0",
        f"double.right.py:{first}: 'same' is the same answer as the solution",
        f"double.right.py:{second}: 'twin' is the same answer as way_2",
    ]


def test_normalising_forgets_wording_and_keeps_meaning() -> None:
    assert normalised("def f(a: int) -> int:\n    b = a\n    return b") == normalised(
        "def f(x):\n  'X.'\n  y = x\n  return y"
    )
    assert normalised("def f(a, b):\n    return a - b") != normalised("def f(a, b):\n    return b - a")
    assert normalised("def f(a):\n    return a.sum()") != normalised("def f(a):\n    return a.mean()")
