"""Judges the predicted elements of Adafactor's state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.adafactor.elements import ElementsCase, elements_cases
from grader.observation import Observation
from grader.testbed.optimizer_states import TensorKind, distilbert_tensors
from grader.verdict import PASSED, Verdict


def predict_adafactor_elements(tensors: Sequence[TensorKind], library: str) -> int:
    """Return the elements that a library's Adafactor keeps from step to step."""
    total = 0
    for kind in tensors:
        if not kind.is_trained:
            continue
        shape, elements = kind.shape, kind.elements
        second = elements
        if len(shape) > 1:
            stacks = math.prod(shape[:-2])
            second = stacks * (shape[-2] + shape[-1])
        total += second
        total += 1  # the step count
        total += library != "torch"  # the RMS of the weight
        total += elements * (library == "transformers with momentum")
    return total


# The parts of the reference that misconceptions edit.
IS_SKIPPED = "if not kind.is_trained:"
WHOLE = "second = elements\n"
IS_FACTORED = "if len(shape) > 1:"
FACTORED = "second = stacks * (shape[-2] + shape[-1])"
STEP = "total += 1  #"
RMS = 'total += library != "torch"'
MOMENTUM = '(library == "transformers with momentum")'
ADD = "total += second\n"
MEANS = "A matrix has row means and column means."
STACK = "The last two dimensions are a matrix, and there is one for each index before them."


def judge_adafactor_elements(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with what the library keeps."""
    answer = TABLE.answer(seed, observation.facts["predicted_elements"])
    if answer.is_right:
        truths = TABLE.truths(seed)
        measured = f"{len(truths)} states to the number; DistilBERT {truths[0]:,} in transformers"
        return Verdict(PASSED, f"{len(truths)} states to the number", f"{measured}, {truths[1]:,} in torch")
    case: ElementsCase = answer.case
    return TABLE.explain(
        answer,
        expected=f"{answer.truth:,} elements for {case.optimizer} on {_describe(case)}",
        measured=f"{answer.value:,.12g} elements, {answer.value - answer.truth:+,.12g}",
        otherwise="Your count differs, but not in a common way. Write the state of one tensor down, for one library, "
        "as a list of shapes, and count their numbers.",
    )


def _describe(case: ElementsCase) -> str:
    trained = [kind for kind in case.tensors if kind.is_trained]
    shapes = list(dict.fromkeys(kind.shape for kind in trained))
    if len(shapes) > 5:
        return f"{len(trained)} tensors of DistilBERT"
    frozen = len(case.tensors) - len(trained)
    named = ", ".join(f"{sum(kind.shape == shape for kind in trained)} of {tuple(shape)}" for shape in shapes)
    return named + (f", and {frozen} frozen" if frozen else "")


def _run(predict: Callable[[Sequence[TensorKind], str], int], case: ElementsCase) -> int:
    return predict(case.tensors, case.optimizer)


def _of_distilbert(seed: int) -> list[ElementsCase]:
    """Return DistilBERT in place of the tensors of each case."""
    return [replace(case, tensors=distilbert_tensors()) for case in elements_cases(seed)]


TABLE = ReferenceTable(
    predict_adafactor_elements,
    Misconception(
        "not_factored",
        f"You keep the second moment of a matrix whole. {MEANS} Look at what they replace.",
        {IS_FACTORED: "if False:"},
    ),
    Misconception(
        "rows_only",
        "You count the row means alone. Add one column mean for each column of a matrix.",
        {FACTORED: "second = stacks * shape[-2]"},
    ),
    Misconception(
        "columns_only",
        "You count the column means alone. Add one row mean for each row of a matrix.",
        {FACTORED: "second = stacks * shape[-1]"},
    ),
    Misconception(
        "product_kept",
        "You count what is computed again at each step and not kept: the product of row means and column means, or "
        "the mean of the row means.",
        {FACTORED: f"{FACTORED} + elements"},
        variants=[{FACTORED: f"{FACTORED} + stacks"}],
    ),
    Misconception(
        "sides_multiplied",
        "You multiply the number of row means by that of column means. Add them.",
        {FACTORED: "second = elements // shape[-1] * (elements // shape[-2])"},
    ),
    Misconception(
        "stack_flattened",
        f"You flatten all dimensions but the first into columns. {STACK}",
        {FACTORED: "second = shape[0] + elements // shape[0]"},
    ),
    Misconception(
        "first_two_dimensions",
        f"You flatten the first two dimensions into rows. {STACK}",
        {
            FACTORED: f"{FACTORED}\n        if len(shape) > 2:\n"
            "            second = shape[0] * shape[1] + elements // (shape[0] * shape[1])"
        },
    ),
    Misconception(
        "last_against_the_rest",
        f"You flatten all dimensions but the last into rows. {STACK}",
        {FACTORED: "second = elements // shape[-1] + shape[-1]"},
    ),
    Misconception(
        "first_two_as_matrix",
        f"You use the first two dimensions as rows and columns. {STACK}",
        {FACTORED: "second = elements // shape[0] + elements // shape[1]"},
    ),
    Misconception(
        "first_two_sides",
        f"You add shape[0] and shape[1], which are not the last two sides of a stack. {STACK}",
        {FACTORED: "second = shape[0] + shape[1]"},
    ),
    Misconception(
        "one_matrix_of_the_stack",
        f"You count the means of one matrix of a stack. {STACK}",
        {FACTORED: "second = shape[-2] + shape[-1]"},
    ),
    Misconception(
        "sides_added",
        f"You keep one vector for each dimension. {STACK}",
        {FACTORED: "second = sum(shape)"},
    ),
    Misconception(
        "stack_not_factored",
        f"You factor tensors of two dimensions only. A stack of matrices is factored, too. {STACK}",
        {IS_FACTORED: "if len(shape) == 2:"},
    ),
    Misconception(
        "single_row_not_factored",
        "You keep a narrow matrix whole. Every matrix is factored, even one of a single row or column: look at "
        "nn.Linear(1, 768).",
        {IS_FACTORED: "if len(shape) > 1 and min(shape[-2:]) > 1:"},
        variants=[{IS_FACTORED: "if len(shape) > 1 and min(shape[-2:]) >= 128:"}],
    ),
    Misconception(
        "vectors_skipped",
        "You skip tensors of fewer than two dimensions. Each has a state: its whole second moment and single numbers.",
        {IS_SKIPPED: "if not kind.is_trained or len(kind.shape) < 2:"},
    ),
    Misconception(
        "single_number_left_out",
        "You count no second moment for a single number, whose shape is empty. It has one element: use numel().",
        {WHOLE: "second = sum(shape)\n"},
    ),
    Misconception(
        "vector_left_out",
        "You count no second moment for a tensor of one dimension, or of none. It is kept whole.",
        {WHOLE: "second = 0\n"},
    ),
    Misconception(
        "vector_as_one_number",
        "You count one mean for a tensor of one dimension. Its second moment is kept whole.",
        {WHOLE: "second = 1\n"},
    ),
    Misconception(
        "vector_as_matrix",
        "You treat a tensor of one dimension as a matrix with one row. It has no row mean and is kept whole.",
        {WHOLE: "second = elements + 1\n"},
        variants=[{WHOLE: "second = elements + len(shape)\n"}],
    ),
    Misconception(
        "adamw_for_all",
        "You count AdamW's state, two moments and a step count. Look at what Adafactor keeps of a matrix.",
        {
            ADD: "total += 2 * elements\n",
            RMS: "total += 0",
            MOMENTUM: "0",
        },
    ),
    Misconception(
        "no_single_numbers",
        "You count no single numbers. Both libraries keep a step count for each tensor, and transformers its RMS.",
        {STEP: "total += 0  #", RMS: "total += 0"},
    ),
    Misconception(
        "numbers_of_transformers_left_out",
        "You count no single numbers for transformers. Its step count is an int and no tensor, and still one element; "
        "the RMS is another.",
        {STEP: 'total += library == "torch"  #', RMS: "total += 0"},
    ),
    Misconception(
        "one_number_of_transformers",
        "You count one single number for each tensor of transformers. It keeps two, the RMS and a step count; "
        "a count that is a Python int is one element, too.",
        {RMS: "total += 0"},
    ),
    Misconception(
        "rms_in_torch",
        "You count an RMS for torch. Only transformers keeps the RMS of the weight.",
        {RMS: "total += 1"},
    ),
    Misconception(
        "rms_without_momentum_only",
        'You count no RMS where momentum is on. transformers keeps it in both cases: compare with `!= "torch"`.',
        {RMS: 'total += library == "transformers"'},
    ),
    Misconception(
        "rms_of_matrices",
        "You count the RMS of matrices alone. transformers keeps it for every tensor, so move it out of that branch.",
        {RMS: 'total += library != "torch" and len(shape) > 1'},
    ),
    Misconception(
        "steps_left_out",
        "You leave the step counts out. Both libraries keep one for each tensor.",
        {STEP: "total += 0  #"},
    ),
    Misconception(
        "steps_of_torch_left_out",
        "You count no steps for torch. It keeps a step count for each tensor, as transformers does.",
        {STEP: 'total += library != "torch"  #'},
    ),
    Misconception(
        "steps_once",
        "You count one step count for the whole model. There is one for each tensor, so add it inside the loop.",
        {STEP: "total += 0  #", "return total": "return total + 1"},
    ),
    Misconception(
        "scalars_once",
        "You count the step count and the RMS once for the whole model. Each tensor has its own.",
        {
            "total = 0": 'total = 1 + (library != "torch")',
            STEP: "total += 0  #",
            RMS: "total += 0",
        },
    ),
    Misconception(
        "momentum_in_torch",
        "You count momentum for torch, whose Adafactor has none. Only the name with momentum has it.",
        {MOMENTUM: '(library != "transformers")'},
    ),
    Misconception(
        "momentum_for_all",
        "You count momentum for every library. It is kept where beta1 is set, as the name says, and nowhere else.",
        {MOMENTUM: "1"},
        variants=[{MOMENTUM: '(library != "torch")'}],
    ),
    Misconception(
        "momentum_of_matrices",
        "You count momentum for matrices only. Every trained tensor has a mean of updates in its own shape.",
        {MOMENTUM: '(library == "transformers with momentum" and len(shape) > 1)'},
    ),
    Misconception(
        "momentum_left_out",
        "You count no momentum. With beta1, transformers keeps a mean of updates in the shape of the parameter.",
        {MOMENTUM: "0"},
    ),
    Misconception(
        "momentum_for_second_moment",
        "You count momentum in place of the second moment. Both are kept.",
        {ADD: f"total += 0 if {MOMENTUM} else second\n"},
    ),
    Misconception(
        "momentum_for_factors",
        "You keep the second moment whole where momentum is on. It is still kept in rows and columns.",
        {ADD: f"total += elements if {MOMENTUM} else second\n"},
    ),
    Misconception(
        "momentum_twice",
        "You count two means for momentum. beta1 adds one mean of updates; AdamW's second mean is not kept.",
        {MOMENTUM: f"2 * {MOMENTUM}"},
    ),
    Misconception(
        "frozen_counted",
        "You count a state for frozen tensors. Look at requires_grad: a tensor without a gradient is skipped.",
        {IS_SKIPPED: "if False:"},
    ),
    Misconception(
        "parameters_added",
        "You count the parameters themselves as state. Count only what the optimizer keeps in addition to them.",
        {ADD: "total += second + elements\n"},
    ),
    Misconception(
        "first_tensor_only",
        "You return inside the loop, so you count the first trained tensor alone. Move `return` out of the loop.",
        {f"{MOMENTUM}\n": f"{MOMENTUM}\n        return total\n"},
    ),
    Misconception(
        "bytes_for_elements",
        "You return bytes or MiB. Return the number of elements.",
        {"return total": "return 4 * total"},
        variants=[{"return total": "return total / 2**18"}],  # MiB
    ),
    hard_coded(elements_cases),
    Misconception(
        "numbers_of_distilbert",
        "You return the numbers of DistilBERT for every list of parameters. Compute them from the list that you "
        "receive.",
        on=_of_distilbert,
    ),
    Misconception(
        "nothing_counted",
        "You return 0 for every list. No backward pass has run, so each .grad is None: requires_grad says which "
        "tensors are trained.",
        shown_by=lambda answer: not any(answer.values),
    ),
    Misconception(
        "same_for_all",
        "You return the same number for all tensors and libraries. Compute it from both arguments.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    run=_run,
    cases=elements_cases,
)
