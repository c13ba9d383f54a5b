"""Verdict on the predicted bytes of an optimizer's state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.lessons.adamw.state import state_cases
from grader.observation import Observation
from grader.testbed.optimizer_states import OPTIMIZERS, StateCase, TensorKind
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
COUNTER_BYTES = 4
MOMENTS = dict(zip(OPTIMIZERS, (0, 1, 1, 2), strict=True))
HAS_COUNTERS = dict(zip(OPTIMIZERS, (False, False, True, True), strict=True))


@dataclass(frozen=True)
class Count:
    """A way to count the state; as it stands, the right one.

    Attributes:
        moments: Numbers that each optimizer keeps for each number of a parameter.
        counted: Which optimizers count their steps.
        counters: Counters of one tensor: "one", "none", "each_number", "each_moment"; or "model", one for all.
        counter_bytes: Bytes of a counter; 0 for those of a number of its parameter.
        has_frozen: Whether frozen tensors count too.
        has_frozen_counters: Whether frozen tensors have counters.
        has_vectors: Whether tensors of one dimension and of none count.
        element_bytes: Bytes of each number; 0 for those of the parameter, -1 for those of the first one.
        extra: Numbers for each number of a parameter that are no state: parameters, gradients.
        unit: Bytes in the unit of the answer.
        is_in_elements: Whether numbers are counted instead of bytes.
    """

    moments: Mapping[str, int] = field(default_factory=lambda: MOMENTS)
    counted: Mapping[str, bool] = field(default_factory=lambda: HAS_COUNTERS)
    counters: str = "one"
    counter_bytes: int = COUNTER_BYTES
    has_frozen: bool = False
    has_frozen_counters: bool = False
    has_vectors: bool = True
    element_bytes: int = 0
    extra: int = 0
    unit: float = 1
    is_in_elements: bool = False

    def of(self, case: StateCase) -> float:
        """Return the answer that this way gives."""
        tensors = [kind for kind in case.tensors if kind.is_trained or self.has_frozen]
        tensors = [kind for kind in tensors if self.has_vectors or len(kind.shape) > 1]
        total = sum(self._of_tensor(kind, case) for kind in tensors)
        if self.has_frozen_counters and self.counted[case.optimizer]:
            total += self.counter_bytes * sum(not kind.is_trained for kind in case.tensors)
        if self.counters == "model" and tensors and self.counted[case.optimizer]:
            total += self.counter_bytes
        return total / self.unit

    def _of_tensor(self, kind: TensorKind, case: StateCase) -> int:
        optimizer = case.optimizer
        element_bytes = case.tensors[0].dtype.itemsize if self.element_bytes < 0 else self.element_bytes
        number_bytes = 1 if self.is_in_elements else element_bytes or kind.dtype.itemsize
        moments = self.moments[optimizer]
        total = (moments + self.extra) * kind.elements * number_bytes
        if not self.counted[optimizer]:
            return total
        counters = {"one": 1, "each_number": kind.elements, "each_moment": moments}.get(self.counters, 0)
        return total + counters * (1 if self.is_in_elements else self.counter_bytes or number_bytes)


RIGHT = Count()


@dataclass(frozen=True)
class Miscount:
    """A misconception about the state, as what it counts otherwise."""

    code: str
    changes: Mapping[str, Any]
    look_at: str


def _moments(**others: int) -> dict[str, Any]:
    return {"moments": MOMENTS | {name.replace("_", " "): number for name, number in others.items()}}


_EVERY = dict.fromkeys(OPTIMIZERS, True)

MISCOUNTS = (
    Miscount("counters_left_out", {"counters": "none"}, "the step counters: which optimizers count, and how often?"),
    Miscount("one_counter_for_all", {"counters": "model"}, "the step counters: one for the model, or one per tensor?"),
    Miscount("counter_for_each_number", {"counters": "each_number"}, "a counter belongs to a tensor, not to a number"),
    Miscount("counter_for_each_moment", {"counters": "each_moment"}, "one counter serves both moments of a tensor"),
    Miscount("counter_of_8_bytes", {"counter_bytes": 8}, "the format of a counter: it is one float32 number"),
    Miscount("counter_in_parameter_format", {"counter_bytes": 0}, "a counter is float32 whatever the parameter is"),
    Miscount("counters_without_need", {"counted": _EVERY}, "which rules contain the step t, and which do not?"),
    Miscount(
        "counter_of_momentum", {"counted": HAS_COUNTERS | {OPTIMIZERS[1]: True}}, "momentum's rule: does it contain t?"
    ),
    Miscount(
        "counter_of_rmsprop_forgotten",
        {"counted": HAS_COUNTERS | {"RMSProp": False}},
        "RMSProp counts its steps too, though its rule does not need them",
    ),
    Miscount("counters_of_frozen", {"has_frozen_counters": True}, "the counters: a frozen tensor has none"),
    Miscount("vectors_left_out", {"has_vectors": False}, "tensors of one dimension: a bias has state as a matrix has"),
    Miscount("format_of_the_first", {"element_bytes": -1}, "the format: each tensor has its own element_size()"),
    Miscount("frozen_counted", {"has_frozen": True}, "tensors without a gradient: requires_grad tells them"),
    Miscount("format_ignored", {"element_bytes": 4}, "the format: a moment has that of its parameter, element_size()"),
    Miscount("one_moment_of_adamw", _moments(AdamW=1), "AdamW's rule: which two means does it carry on?"),
    Miscount("three_moments_of_adamw", _moments(AdamW=3), "AdamW's rule: what of it is needed at the next step?"),
    Miscount("two_moments_of_rmsprop", _moments(RMSProp=2), "RMSProp's rule: which mean does it carry on?"),
    Miscount("momentum_forgotten", {"moments": MOMENTS | {OPTIMIZERS[1]: 0}}, "momentum's rule: what is v?"),
    Miscount(
        "velocity_twice", {"moments": MOMENTS | {OPTIMIZERS[1]: 2}}, "momentum's rule: how much does it carry on?"
    ),
    Miscount("state_of_plain_sgd", _moments(SGD=1), "SGD's rule: does it need anything from the step before?"),
    Miscount(
        "two_moments_for_all", {"moments": dict.fromkeys(OPTIMIZERS, 2)}, "each rule by itself: what does it keep?"
    ),
    Miscount(
        "parameters_added", {"extra": 1}, "the parameters themselves are no state: count what is kept beside them"
    ),
    Miscount("gradients_added", {"extra": 2}, "parameters and gradients are no state: count what is kept beside them"),
    Miscount("elements_for_bytes", {"is_in_elements": True}, "the unit: how many bytes does one number take?"),
    Miscount("mebibytes_for_bytes", {"unit": MIB}, "the unit: bytes are asked for, not MiB"),
    Miscount("megabytes_for_bytes", {"unit": 10**6}, "the unit: bytes are asked for, not MB"),
)


def judge_state_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with what PyTorch keeps, and name what explains a miss."""
    cases, answers = state_cases(seed), observation.facts["predicted_bytes"]
    for case, answer in zip(cases, answers, strict=True):
        truth = RIGHT.of(case)
        if answer != truth:
            expected = f"{_say(truth)} for {case.optimizer} on {_describe(case)}"
            code, look_at = _recognise(cases, answers)
            measured = _say(answer)
            if truth:
                measured += _say_ratio(answer, truth)
            return Verdict(code, expected, measured, look_at)
    measured = f"{len(cases)} states to the byte; DistilBERT with AdamW {_say(RIGHT.of(cases[0]))}"
    return Verdict(PASSED, f"{len(cases)} states to the byte", measured)


def _recognise(cases: Sequence[StateCase], answers: Sequence[float]) -> tuple[str, str]:
    for miscount, count in _counts():
        if _explains(count.of, cases, answers):
            return miscount.code, miscount.look_at
    if _explains(RIGHT.of, state_cases(VISIBLE_SEED), answers):
        return "visible_case_hard_coded", "numbers that are right for other tensors: what does your answer depend on?"
    if list(answers) == [RIGHT.of(replace(cases[0], optimizer=case.optimizer)) for case in cases]:
        return "distilbert_for_all", "the bytes of DistilBERT: what does your answer read of other parameters?"
    if not any(answers):
        look_at = "every answer is 0: no backward has run, so .grad is None. requires_grad tells what is trained"
        return "no_state_at_all", look_at
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all tensors and optimizers: what does it read?"
    return UNRECOGNISED, "one tensor of one optimizer: write its state down as a list of tensors, and count these"


def _counts() -> Iterator[tuple[Miscount, Count]]:
    for miscount in MISCOUNTS:
        yield miscount, replace(RIGHT, **miscount.changes)
    for one, other in itertools.combinations(MISCOUNTS, 2):
        if not set(one.changes) & set(other.changes):
            yield one, replace(RIGHT, **one.changes, **other.changes)


def _explains(count: Callable[[StateCase], float], cases: Sequence[StateCase], answers: Sequence[float]) -> bool:
    return all(
        abs(answer - count(case)) <= 1e-9 * abs(count(case)) + (0.5 if count(case) > MIB else 0)
        for case, answer in zip(cases, answers, strict=True)
    )


def _say_ratio(answer: float, truth: float) -> str:
    if abs(answer / truth - 1) < 0.01:
        return f", {abs(answer - truth):,.10g} bytes too {'many' if answer > truth else 'few'}"
    return f", {answer / truth:.4g} times as much"


def _describe(case: StateCase) -> str:
    trained = [kind for kind in case.tensors if kind.is_trained]
    formats = " and ".join(sorted({str(kind.dtype).removeprefix("torch.") for kind in trained}))
    numbers = sum(kind.elements for kind in trained)
    frozen = len(case.tensors) - len(trained)
    return f"{len(trained)} tensors with {numbers:,} numbers in {formats}" + (
        f", and {frozen} frozen" if frozen else ""
    )


def _say(state_bytes: float) -> str:
    return f"{state_bytes:,.10g} bytes" + (f" ({format_bytes(int(state_bytes))})" if state_bytes >= 2**10 else "")
