"""A lesson of three tiny exercises with its checks and banks, for tests that need a whole course in a folder."""

from __future__ import annotations

from pathlib import Path

STEM, TOPIC = "07_sums", "sums"
SETTINGS = '[tool.lean-training]\nrepository = "someone/course"\nbranch = "main"\n'
CHECKS = """
from grader.verdict import CheckFailed, NotSolvedYet, Verdict


def _check(function, cases, codes):
    for arguments, expected in cases:
        try:
            measured = function(*arguments)
        except NotImplementedError:
            raise NotSolvedYet(function.__name__) from None
        if measured != expected:
            code = codes.get(measured, "unrecognised")
            raise CheckFailed(Verdict(code, str(expected), str(measured), f"look at {code}"))
    print(f"passed: {expected}")


def check_sum(function):
    _check(function, [((3, 4), 7), ((5, 1), 6)], {12: "multiplied", -1: "subtracted", 3: "second_forgotten", 0: "zero"}
           | {value: f"code_{value}" for value in range(100, 120)} | {4: "only_for_the_visible_case"})


def check_sum_of_negatives(function):
    _check(function, [((-3, -4), -7)], {7: "sign_lost"})


def check_double(function):
    _check(function, [((4,), 8)], {4: "not_doubled", 16: "squared"} | {v: f"code_{v}" for v in range(100, 120)})


def check_half(function):
    _check(function, [((8,), 4)], {8: "not_halved"} | {v: f"code_{v}" for v in range(100, 120)})


def check_last(function):
    _check(function, [(([1, 2],), 2)], {1: "first_taken"} | {v: f"code_{v}" for v in range(100, 120)})


def look(function, *arguments):
    try:
        print(function(*arguments))
    except NotImplementedError:
        print("not solved yet")
"""
LESSON = '''\
# %% [markdown]
# # 7. Sums
#
# You will add numbers.

# %% tags=["given"]
from toy_checks import check_double, check_half, check_last, check_sum, check_sum_of_negatives, look

OFFSET = 0

# %% exercise="add"
def add(first: int, second: int) -> int:
    """Add two numbers.

    Args:
        first: A number.
        second: Another.

    Returns:
        Their sum.
    """
    ### BEGIN SOLUTION
    total_of_both = first + second + OFFSET
    return total_of_both
    ### END SOLUTION

# %%
look(add, 3, 4)

# %% check="check_sum" points=2
check_sum(add)

# %% check="check_sum_of_negatives" points=1
check_sum_of_negatives(add)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>Count on your fingers.</details>

# %% exercise="double"
def double(number: int) -> int:
    """Return twice a number."""
    ### BEGIN SOLUTION
    return 2 * number
    ### END SOLUTION

# %% check="check_double" points=1
check_double(double)

# %% exercise="halve"
def halve(number: int) -> int:
    """Return half of an even number."""
    ### BEGIN SOLUTION
    return number // 2
    ### END SOLUTION

# %% check="check_half" points=1
check_half(halve)

# %% [markdown] tags=["further"]
# ## Further

# %% exercise="last"
def last(numbers: list[int]) -> int:
    """Return the last number."""
    ### BEGIN SOLUTION
    return numbers[-1]
    ### END SOLUTION

# %% check="check_last" points=3
check_last(last)
'''
SIGNATURES = {"add": "first, second", "double": "number", "halve": "number", "last": "numbers"}
OBLIGATORY = ("plain_baseline", "hard_coded", "copied_from_lesson")
RIGHT = {
    "add": ("sum((first, second))", "second + first", "first - -second"),
    "double": ("number + number", "number << 1", "sum([number, number])"),
    "halve": ("int(number / 2)", "number >> 1", "divmod(number, 2)[0]"),
    "last": ("list(reversed(numbers))[0]", "numbers[len(numbers) - 1]", "numbers.copy().pop()"),
}


def make_course(root: Path, lesson: str = LESSON) -> Path:
    """Write settings, checks and the lesson below `root`; return the source."""
    source = root / "solutions" / f"{STEM}.py"
    source.parent.mkdir(parents=True)
    source.write_text(lesson)
    (root / "pyproject.toml").write_text(SETTINGS)
    (root / "toy_checks.py").write_text(CHECKS)
    return source


def wrong_cell(exercise: str, name: str, expression: str, code: str, comment: str = "# Source: a thought.") -> str:
    """Return the cell of a wrong answer that returns an expression."""
    return f'# %% answer="{name}" code="{code}"\n{comment}\n{function(exercise, expression)}'


def right_cell(exercise: str, name: str, expression: str) -> str:
    """Return the cell of a right answer that returns an expression."""
    return f'# %% answer="{name}"\n{function(exercise, expression)}'


def function(exercise: str, expression: str) -> str:
    """Return an answer that returns an expression."""
    return f"def {exercise}({SIGNATURES[exercise]}):\n    return {expression}\n"


def bank(root: Path, exercise: str, kind: str) -> Path:
    """Return the path of a bank."""
    return root / "tests" / "lessons" / TOPIC / f"{exercise}.{kind}.py"


def make_banks(root: Path) -> None:
    """Write banks that validate: eight wrong answers per exercise, each with its own code, and three right ones."""
    bank(root, "add", "wrong").parent.mkdir(parents=True)
    names = [*OBLIGATORY, *(f"returns_{number}" for number in range(5))]
    for exercise, expressions in RIGHT.items():
        codes = [(name, str(number), f"code_{number}") for number, name in enumerate(names, start=100)]
        wrong = [wrong_cell(exercise, *cell) for cell in codes]
        right = [right_cell(exercise, f"way_{number}", text) for number, text in enumerate(expressions)]
        bank(root, exercise, "wrong").write_text("\n\n".join(wrong))
        bank(root, exercise, "right").write_text("\n\n".join(right))
