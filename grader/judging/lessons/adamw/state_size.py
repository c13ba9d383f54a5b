"""Judges the predicted bytes of an optimizer's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.adamw.state import state_cases
from grader.observation import Observation
from grader.testbed.optimizer_states import StateCase, TensorKind
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict


def predict_state_bytes(tensors: Sequence[TensorKind], optimizer: str) -> float:
    """Return the bytes that an optimizer keeps from step to step."""
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter_bytes = {"RMSProp": 4, "AdamW": 4}.get(optimizer, 0)
    trained = [kind for kind in tensors if kind.is_trained]
    return sum(moments * kind.elements * kind.dtype.itemsize + counter_bytes for kind in trained)


# The parts of the reference that misconceptions edit.
FOUR_BYTES = '{"RMSProp": 4, "AdamW": 4}'
NO_COUNTER = ".get(optimizer, 0)"
TRAINED = " if kind.is_trained"
MOMENTS = "moments * kind.elements"
NUMBER_BYTES = "kind.dtype.itemsize"
COUNTER = " + counter_bytes"
END = "for kind in trained)"


def judge_state_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with what PyTorch keeps."""
    answer = TABLE.answer(seed, observation.facts["predicted_bytes"])
    if answer.is_right:
        truths = TABLE.truths(seed)
        measured = f"{len(truths)} states to the byte; DistilBERT with AdamW {_say(truths[0])}"
        return Verdict(PASSED, f"{len(truths)} states to the byte", measured)
    value, truth = answer.value, answer.truth
    return TABLE.explain(
        answer,
        expected=f"{_say(truth)} for {answer.case.optimizer} on {_describe(answer.case)}",
        measured=_say(value) + (_say_difference(value, truth) if truth else ""),
        otherwise="Your count differs, but not in a common way. Write the state of one tensor down, for one optimizer, "
        "as a list of tensors, and add their bytes.",
    )


def _equals(answer: float, value: float) -> bool:
    """Return whether an answer equals a value: bytes exactly, other units after their rounding."""
    return answer == value if isinstance(value, int) else is_near(answer, value, relative=1e-9)


def _run(predict: Callable[..., float], case: StateCase) -> float:
    return predict(case.tensors, case.optimizer)


def _of_distilbert(seed: int) -> list[StateCase]:
    """Return DistilBERT in place of the tensors of each case."""
    return [replace(state_cases(seed)[0], optimizer=case.optimizer) for case in state_cases(seed)]


TABLE = ReferenceTable(
    predict_state_bytes,
    Misconception(
        "counters_left_out",
        "You leave the step counters out. RMSProp and AdamW keep one float32 number for each trained tensor.",
        {COUNTER: ""},
        variants=[{COUNTER: "", NUMBER_BYTES: "4"}, {COUNTER: "", TRAINED: ""}],
    ),
    Misconception(
        "one_counter_for_all",
        "You count one step counter for the whole model. RMSProp and AdamW keep one for each trained tensor.",
        {f"{COUNTER} {END}": f" {END} + counter_bytes * bool(trained)"},
    ),
    Misconception(
        "counter_for_each_moment",
        "You count a step counter for each moment. Both moments of a tensor share one.",
        {COUNTER: " + moments * counter_bytes"},
    ),
    Misconception(
        "counter_of_8_bytes",
        "You count 8 bytes for a step counter. It is one float32 number, not a 64-bit integer.",
        {FOUR_BYTES: '{"RMSProp": 8, "AdamW": 8}'},
    ),
    Misconception(
        "counter_in_parameter_format",
        "You give the step counter the format of its parameter. It is float32 for 16-bit parameters as well.",
        {COUNTER: f" + bool(counter_bytes) * {NUMBER_BYTES}"},
    ),
    Misconception(
        "counters_without_need",
        "You count step counters for SGD, which keeps none. RMSProp and AdamW count their steps.",
        {NO_COUNTER: ".get(optimizer, 4)"},
        variants=[{NO_COUNTER: ".get(optimizer, 4 * moments)"}],
    ),
    Misconception(
        "counter_of_rmsprop_forgotten",
        "You count no step counters for RMSProp. PyTorch keeps them, although the rule does not need them.",
        {FOUR_BYTES: '{"AdamW": 4}'},
    ),
    Misconception(
        "counters_of_frozen",
        "You count step counters for frozen tensors, too. A tensor that is skipped has no state at all.",
        {f"{COUNTER} {END}": f" {END} + counter_bytes * len(tensors)"},
    ),
    Misconception(
        "vectors_left_out",
        "You leave tensors of one dimension out. A bias has a state, as a matrix has.",
        {TRAINED: f"{TRAINED} and len(kind.shape) > 1"},
    ),
    Misconception(
        "first_tensor_only",
        "You return inside the loop, so you count the first trained tensor alone. Move `return` out of the loop.",
        {END: "for kind in trained[:1])"},
    ),
    Misconception(
        "format_of_the_first",
        "You use the number format of the first tensor for all. Each tensor has its own element_size().",
        {NUMBER_BYTES: "tensors[0].dtype.itemsize"},
    ),
    Misconception(
        "frozen_counted",
        "You count a state for frozen tensors. Look at requires_grad: a tensor without a gradient is skipped.",
        {TRAINED: ""},
        variants=[{TRAINED: "", NUMBER_BYTES: "4"}],
    ),
    Misconception(
        "format_ignored",
        "You count 4 bytes for every number. A moment has the format of its parameter: use element_size().",
        {NUMBER_BYTES: "4"},
    ),
    Misconception(
        "one_moment_of_adamw",
        "You count one moment for AdamW. Its rule carries two means over: of the gradients and of their squares.",
        {'"AdamW": 2': '"AdamW": 1'},
    ),
    Misconception(
        "two_moments_of_rmsprop",
        "You count two moments where the rule carries one over: RMSProp the mean of squares, momentum the velocity.",
        {'"RMSProp": 1': '"RMSProp": 2'},
        variants=[{'"SGD with momentum": 1': '"SGD with momentum": 2'}],
    ),
    Misconception(
        "gradient_as_moment",
        "You count three moments for AdamW. The gradient is not state: the next step has a gradient of its own.",
        {'"AdamW": 2': '"AdamW": 3'},
    ),
    Misconception(
        "velocity_of_plain_sgd",
        "You count a velocity for SGD without momentum. Its rule carries nothing over.",
        {'"SGD": 0': '"SGD": 1'},
    ),
    Misconception(
        "momentum_forgotten",
        "You count no moment for SGD with momentum or RMSProp. Each rule carries one over: the velocity v, or the mean "
        "of squares.",
        {'"SGD with momentum": 1': '"SGD with momentum": 0'},
        variants=[{'"RMSProp": 1': '"RMSProp": 0'}],
    ),
    Misconception(
        "two_moments_for_all",
        "You count two moments for every optimizer, which is right for AdamW only. See what each rule carries over.",
        {"[optimizer]": "and 2"},
        variants=[{"[optimizer]": "and 2", NO_COUNTER: ".get(optimizer, 4)"}],
    ),
    Misconception(
        "parameters_added",
        "You count the parameters themselves as state. Count only what the optimizer keeps in addition to parameters "
        "and gradients.",
        {MOMENTS: "(moments + 1) * kind.elements"},
        variants=[{MOMENTS: "(moments + 2) * kind.elements"}],
    ),
    Misconception(
        "elements_for_bytes",
        "You count numbers. Multiply each count by the bytes of one number.",
        {NUMBER_BYTES: "1", FOUR_BYTES: '{"RMSProp": 1, "AdamW": 1}'},
    ),
    Misconception(
        "another_unit",
        "You return MiB, MB or bits. Return bytes.",
        {END: f"{END} / {MIB}"},
        variants=[{END: f"{END} / 1e6"}, {END: f"{END} * 8"}],
    ),
    hard_coded(state_cases),
    Misconception(
        "distilbert_for_all",
        "You return the bytes of DistilBERT for every list of parameters. Compute them from the list that you receive.",
        on=_of_distilbert,
    ),
    Misconception(
        "no_state_at_all",
        "You return 0 for every optimizer. No backward pass has run, so each .grad is None: requires_grad says which "
        "tensors are trained.",
        shown_by=lambda answer: not any(answer.values),
    ),
    Misconception(
        "same_for_all",
        "You return the same number for all tensors and optimizers. Compute it from both arguments.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    run=_run,
    cases=state_cases,
    is_near=_equals,
)


def _say_difference(answer: float, truth: float) -> str:
    if abs(answer / truth - 1) < 0.01:
        return f", {abs(answer - truth):,.10g} bytes too {'many' if answer > truth else 'few'}"
    return f", {answer / truth:.4g} times as much"


def _describe(case: StateCase) -> str:
    trained = [kind for kind in case.tensors if kind.is_trained]
    formats = " and ".join(sorted({str(kind.dtype).removeprefix("torch.") for kind in trained}))
    frozen = len(case.tensors) - len(trained)
    text = f"{len(trained)} tensors with {sum(kind.elements for kind in trained):,} numbers in {formats}"
    return text + (f", and {frozen} frozen" if frozen else "")


def _say(state_bytes: float) -> str:
    return f"{state_bytes:,.10g} bytes" + (f" ({format_bytes(int(state_bytes))})" if state_bytes >= 2**10 else "")
