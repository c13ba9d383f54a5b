from __future__ import annotations

from pathlib import Path

import pytest
import toy

from grader.authoring.errors import BuildError
from grader.authoring.lesson import build_release, read_lesson
from grader.authoring.objectives import read_objectives
from grader.authoring.template import template_problems

CHECK = '# %% check="check_sum" points=2\ncheck_sum(add)'
REGION = "    ### BEGIN SOLUTION\n    return 2 * number\n    ### END SOLUTION"
FAULTS = {
    "unknown key": ('exercise="double"', 'exercise="double" autograde=true', "unknown cell key 'autograde'"),
    "unknown tag": ('tags=["hint"]', 'tags=["skip-execution"]', "unknown tag 'skip-execution'"),
    "duplicate exercise": ('exercise="double"\ndef double', 'exercise="add"\ndef add', "the id 'add' is used twice"),
    "duplicate check": (CHECK, f"{CHECK}\n\n{CHECK}", "the id 'check_sum' is used twice"),
    "no exercise": ("check_sum(add)", "check_sum(sum)", "check 'check_sum' has no exercise"),
    "no name": ("check_sum(add)", "check_sum(lambda: 0)", "check 'check_sum' has no exercise"),
    "two calls": ("check_sum(add)", "check_sum(add)\nprint()", "check 'check_sum' is not exactly one call"),
    "an assignment": ("check_sum(add)", "x = check_sum(add)", "check 'check_sum' is not exactly one call"),
    "another call": ("check_sum(add)", "check_last(add)", "check 'check_sum' calls 'check_last'"),
    "no region": (REGION, "    return 2 * number", "exercise 'double' has no solution region"),
    "no docstring": ('    """Return twice a number."""\n', "", "exercise 'double' has no docstring"),
    "no function": ("def double(", "def twice(", "the cell defines 0 functions named 'double'"),
    "no Python": ("def double(", "def double)(", "exercise 'double' is not valid Python"),
    "open region": (
        "    return 2 * number\n    ### END SOLUTION",
        "    return 2 * number",
        "unbalanced solution region",
    ),
    "nested region": (
        "    return 2 * number",
        "    ### BEGIN SOLUTION\n    return 2 * number",
        "unbalanced solution region",
    ),
    "stray region": (
        "look(add, 3, 4)",
        "### BEGIN SOLUTION\n3\n### END SOLUTION",
        "a solution region outside an exercise",
    ),
    "zero points": ('"check_last" points=3', '"check_last" points=0', "check 'check_last' has points=0"),
    "negative points": ('"check_last" points=3', '"check_last" points=-1', "check 'check_last' has points=-1"),
    "half points": ('"check_last" points=3', '"check_last" points=0.5', "check 'check_last' has points=0.5"),
    "no points": ('"check_last" points=3', '"check_last"', "check 'check_last' has no points"),
    "points elsewhere": ('exercise="double"', 'exercise="double" points=2', "points on a cell that is not a check"),
    "loopback elsewhere": (
        'exercise="double"',
        'exercise="double" tags=["needs-loopback"]',
        "the tag 'needs-loopback' on a cell that is not a check",
    ),
    "no check": ('# %% check="check_double" points=1\ncheck_double(double)\n', "", "exercise 'double' has no check"),
    "header": ("# You will", "# [Open](https://colab.research.google.com/x). You will", "a Colab header in the source"),
    "identity line": (
        "check_sum(add)",
        "# check: check_sum (2 points)\ncheck_sum(add)",
        "an identity line in the source",
    ),
    "raw cell": ("# %%\nlook(add, 3, 4)", "# %% [raw]\n# text", "a raw cell"),
}


def replaced(source: Path, old: str, new: str) -> Path:
    assert old in toy.LESSON
    source.write_text(toy.LESSON.replace(old, new, 1))
    return source


@pytest.mark.parametrize("old, new, fault", FAULTS.values(), ids=FAULTS)
def test_a_breach_of_structure_is_reported_with_file_line_and_remedy(
    source: Path, old: str, new: str, fault: str
) -> None:
    with pytest.raises(BuildError) as caught:
        read_lesson(replaced(source, old, new))
    problem = next(problem for problem in caught.value.problems if problem.fault == fault)
    assert problem.path == source
    assert 1 < problem.line <= source.read_text().count("\n")
    assert problem.remedy
    assert str(problem) == f"{source}:{problem.line}: {fault}. {problem.remedy}."


def test_a_check_before_its_exercise_is_rejected(source: Path) -> None:
    source.write_text(toy.LESSON.replace(CHECK, "").replace('# %% exercise="add"', f'{CHECK}\n\n# %% exercise="add"'))
    with pytest.raises(BuildError, match="check 'check_sum' comes before its exercise"):
        read_lesson(source)


def test_every_fault_of_a_file_is_reported_at_once(source: Path) -> None:
    text = toy.LESSON.replace("points=3", "points=0").replace('    """Return twice a number."""\n', "")
    source.write_text(text)
    with pytest.raises(BuildError) as caught:
        read_lesson(source)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("name", ["sums", "7_sums", "07_Sums", "07-sums", "07_"])
def test_a_stem_without_number_and_noun_is_rejected(source: Path, name: str) -> None:
    with pytest.raises(BuildError, match="is not a lesson name"):
        read_lesson(source.rename(source.with_name(f"{name}.py")))


def test_text_above_the_first_cell_is_rejected(source: Path) -> None:
    source.write_text('"""A lesson."""\n' + toy.LESSON)
    with pytest.raises(BuildError, match="does not start with a cell"):
        read_lesson(source)


@pytest.mark.parametrize(
    "leak",
    [
        "# %%\ntotal_of_both = 3 + 4\nfirst = second = 1\ntotal_of_both = first + second + OFFSET  # shown",
        "# %% [markdown]\n# Write `total_of_both = first + second + OFFSET`.",
    ],
    ids=["code", "text"],
)
def test_solution_text_elsewhere_in_the_release_is_rejected(source: Path, leak: str) -> None:
    source.write_text(toy.LESSON.replace("# %%\nlook(add, 3, 4)", leak))
    with pytest.raises(BuildError, match="solution text of 'add' stays in cell 6 of the release"):
        build_release(source)


STYLE = {
    "title": ("# # 7. Sums", "# # Sums", "the first cell is not a title"),
    "two core exercises": ("# <details>", "# <details>\n# %% [markdown] tags=['further']\n# More", "1 in the core"),
    "long text": ("# You will add numbers.", "# " + "word " * 130, "a text cell of 132 words"),
    "long code": ("look(add, 3, 4)", "look(add, 3, 4)\n" * 21, "a code cell of 21 lines"),
    "long answer": ("    return 2 * number", "    number += 1\n" * 15 + "    return number", "an answer of 16 lines"),
    "HTML": ("# You will", '# <img src="x.png"> You will', "HTML tag <img>"),
    "bold powers": ("# You will", "# 2**16 and 2**26. You will", "powers that Markdown shows as bold type"),
    "alt text": ("# You will", "# ![](x.png) You will", "a figure without alt text"),
    "open hint": (
        "<details><summary>Hint</summary>Count on your fingers.</details>",
        "Count.",
        "a hint that is not folded",
    ),
}


@pytest.mark.parametrize("old, new, fault", STYLE.values(), ids=STYLE)
def test_a_breach_of_the_template_is_reported(source: Path, old: str, new: str, fault: str) -> None:
    problems = template_problems(read_lesson(replaced(source, old, new)))
    assert [problem for problem in problems if problem.fault.startswith(fault)]


def test_two_forms_of_one_run_count_as_one_core_exercise(source: Path) -> None:
    source.write_text(toy.LESSON.replace("double", "twice_with_accelerate").replace("halve", "twice_with_trainer"))
    faults = [problem.fault for problem in template_problems(read_lesson(source))]
    assert [fault for fault in faults if fault.startswith("2 in the core, two forms counted as one")]


def test_the_toy_lesson_keeps_the_template(source: Path) -> None:
    assert template_problems(read_lesson(source)) == []


def test_code_in_text_and_folds_are_not_html(source: Path) -> None:
    text = "# Write `list<int>`, see <https://example.org><br>\n# <details><summary>Why?</summary>So.</details>"
    assert template_problems(read_lesson(replaced(source, "# You will", text))) == []


OBJECTIVES = '# %% [markdown] objectives="{}"\n# **You will be able to**\n# - add;\n# - double, and\n#   halve.\n\n'


def with_objectives(source: Path, numbers: str) -> Path:
    first = '# %% tags=["given"]'
    return replaced(source, first, OBJECTIVES.format(numbers) + first)


def test_each_objective_is_tied_to_its_exercises(source: Path) -> None:
    lesson = read_lesson(with_objectives(source, "1; 2 3"))
    assert template_problems(lesson) == []
    assert [(objective.text, objective.exercises) for objective in read_objectives(lesson)] == [
        ("add", ("add",)),
        ("double, and halve", ("double", "halve")),
    ]


@pytest.mark.parametrize(
    "numbers, fault",
    [
        ("1 2 3", "2 objectives, and exercises for 1"),
        ("1 2 3; ", "no exercise measures the objective 'double, and halve'"),
        ("1; 2", "exercise 3, 'halve', serves no objective"),
        ("1; 2 3 9", "an objective names exercise 9, and the lesson has 1 to 4"),
    ],
)
def test_an_objective_that_nothing_measures_is_reported(source: Path, numbers: str, fault: str) -> None:
    assert fault in [problem.fault for problem in template_problems(read_lesson(with_objectives(source, numbers)))]


def test_a_released_notebook_does_not_show_what_measures_an_objective(source: Path) -> None:
    assert "objectives" not in str(build_release(with_objectives(source, "1; 2 3")))
