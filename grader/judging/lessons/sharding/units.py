"""Judges a sharded unit: its values and gradients, the peak of each rank, and what is gathered when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.lessons.sharding.reports import Facts, bytes_of, facts_of, is_near
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.sharding.units import UnitCase, unit_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

UNITS_AT_ONCE = 5  # gathered weights, their gradient, and padded copies of both; one to spare

Values = dict[str, Tensor]


@dataclass(frozen=True)
class UnitRun:
    """One rank of one setting.

    Attributes:
        case: The setting.
        rank: Number of the rank.
        facts: What it reported.
    """

    case: UnitCase
    rank: int
    facts: Facts

    @property
    def peak_bytes(self) -> int:
        """The peak of the rank."""
        return int(self.facts["peak_bytes"])

    @property
    def bound_bytes(self) -> int:
        """Shares with their gradients, what flows between units, the inside of one unit, and `UNITS_AT_ONCE` units."""
        case = self.case
        shares = 2 * 4 * case.units * case.share
        activations = 4 * case.rows * (case.width * (case.units + 6) + 4 * case.hidden)
        return shares + activations + UNITS_AT_ONCE * 4 * case.share * case.world_size

    @property
    def inputs_bytes(self) -> int:
        """The bytes of the inputs of all units."""
        return 4 * self.case.rows * self.case.width * self.case.units

    @property
    def peak(self) -> str:
        """The peak as text."""
        return f"{self.peak_bytes:,} bytes"

    @property
    def bound(self) -> str:
        """The bound as text."""
        return f"{self.bound_bytes:,} bytes"

    @property
    def called(self) -> str:
        """The collectives of both directions as text."""
        return "; ".join(f"{part}: {_say([name for name, _ in self.facts[part]])}" for part in ("forward", "backward"))

    def count(self, part: str, name: str) -> int:
        """Return how many collectives of a name a direction has."""
        return sum(kind == name for kind, _ in self.facts[part])

    def put_in(self, part: str, *names: str) -> int:
        """Return the bytes that the rank put into collectives."""
        return bytes_of(self.facts[part], *names)


def _say(names: list[str]) -> str:
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or "nothing"


def judge_sharded_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare outputs and gradients of every rank with units whose weights are whole."""
    seen = []
    for number, run in _runs(observation, seed):
        verdict = CALLED.judge(run)
        if verdict:
            return verdict
        prefix = f"{number}.{run.rank}."
        seen.append({name: observation.tensors[prefix + name] for name in ("outputs", "inputs", "shards")})
    answer = VALUES.answer(seed, seen)
    for name in ("outputs", "inputs", "shards"):
        part = answer.part(name)
        if part.is_right:
            continue
        what = {"outputs": "outputs", "inputs": "gradient of the inputs", "shards": "gradient of the shards"}[name]
        rank, case = part.case
        error = float("nan")
        if part.value.shape == part.truth.shape:
            error = float((part.value - part.truth).norm() / part.truth.norm())
        expected = f"the {what} on rank {rank} of {case.world_size}, as with whole weights"
        measured = f"off by {error:.1e} of its norm"
        return VALUES.explain(part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "values of whole units", "outputs and gradients on 2 and 3 ranks, as with whole weights")


OTHERWISE = {
    "outputs": "You compute other outputs than run does on whole weights. Compare the gathered vector with them: order "
    "of the shares, padding, format.",
    "inputs": "You hand other gradients to the unit before. Run the unit on the weights of forward, and return the "
    "gradient of inputs as autograd gives it.",
    "shards": "You return other gradients of the shard. Pad the unit's gradient with zeros at its end, add up the "
    "ranks in float32, divide by their number, and keep the shares in order.",
}


def judge_sharded_peak(observation: Observation, seed: int) -> Verdict:
    """Compare the peak of every rank with its bound, and its collectives with those of a unit."""
    runs = _runs(observation, seed)
    for table in (CALLED, KEPT):
        for _, run in runs:
            verdict = table.judge(run)
            if verdict:
                return verdict
    shown = ", ".join(f"{run.peak} (bound {run.bound})" for _, run in runs if run.rank == 0)
    return Verdict(PASSED, "weights gathered, used and freed in both directions", f"peak of rank 0: {shown}")


def _runs(observation: Observation, seed: int) -> list[tuple[int, UnitRun]]:
    return [
        (number, UnitRun(case, rank, facts))
        for number, case in enumerate(unit_cases(seed))
        for rank, facts in enumerate(facts_of(observation, number, case.world_size))
    ]


def ranks_and_cases(seed: int) -> tuple[tuple[int, UnitCase], ...]:
    """Return every rank of every setting."""
    return tuple((rank, case) for case in unit_cases(seed) for rank in range(case.world_size))


def values_of(rank: int, case: UnitCase) -> Values:
    """Return what a rank should find: outputs, the gradient of its inputs, and of its shards."""
    size, found = case.world_size, []
    for one in range(size):
        weights = [flat.requires_grad_() for flat in case.make_weights()]
        hidden = inputs = case.make_inputs(one).requires_grad_()
        for flat in weights:
            hidden = case.make_run()(flat, hidden)
        found.append((hidden.detach(), torch.autograd.grad(hidden.square().mean(), [inputs, *weights])))
    shards = []
    for unit in range(case.units):
        whole = torch.stack([of_one[1 + unit] for _, of_one in found]).mean(dim=0)
        shards.append(F.pad(whole, (0, case.share * size - case.total)).chunk(size)[rank])
    outputs, (own, *_) = found[rank]
    return {"outputs": outputs, "inputs": own.flatten(), "shards": torch.cat(shards)}


def _run(values_of: Callable[..., Values], item: tuple[int, UnitCase]) -> Values:
    return values_of(*item)


AVERAGE = "torch.stack([of_one[1 + unit] for _, of_one in found]).mean(dim=0)"
VALUES = ReferenceTable(
    values_of,
    Misconception(
        "gradients_summed",
        "You return the sum of the ranks' gradients. Divide what reduce_scatter leaves by the number of ranks.",
        {AVERAGE: AVERAGE.replace(".mean(", ".sum(")},
    ),
    Misconception(
        "own_gradient_kept",
        "You return a share of this rank's own gradient. Add up the shares of all ranks: reduce-scatter.",
        {AVERAGE: "found[rank][1][1 + unit]"},
        variants=[{AVERAGE: "found[rank][1][1 + unit] / size"}],
    ),
    Misconception(
        "divided_twice",
        "You divide the shard's gradient by the number of ranks twice. Look for a mean that is divided again.",
        {AVERAGE: f"{AVERAGE} / size"},
    ),
    Misconception(
        "inputs_divided",
        "You divide the gradient of the inputs by the number of ranks. Inputs are this rank's own rows: hand it on as "
        "it is.",
        {"own.flatten()": "own.flatten() / size**case.units"},  # each unit divides what the next one hands back
    ),
    run=_run,
    cases=ranks_and_cases,
    is_near=is_near,
)
CALLED = Table[UnitRun](
    Misconception(
        "no_outputs",
        "You do not return the outputs of the unit with a graph. autograd.Function's apply makes one; no_grad and "
        "detach remove it.",
        shown_by=lambda run: bool(run.facts["no_outputs"]),
        expected="a tensor like inputs, with a graph",
        measured="{facts[no_outputs]}",
    ),
    Misconception(
        "no_gradient",
        "You leave a shard or the inputs without a gradient. Pass both to apply, and return a gradient for each.",
        shown_by=lambda run: run.facts["missing"] > 0,
        expected="a gradient for each shard and for the inputs",
        measured="{facts[missing]} of them without one",
    ),
    Misconception(
        "nothing_gathered",
        "You gather nothing in forward. Each rank holds a share, and run needs all of them.",
        shown_by=lambda run: not run.facts["forward"],
        expected="an all-gather for each unit",
        measured="no collective in forward",
    ),
    Misconception(
        "inputs_averaged",
        "You add up the gradient of the inputs over the ranks. Inputs are this rank's own rows: hand it on as it is.",
        shown_by=lambda run: run.put_in("backward", "all_reduce") == run.inputs_bytes,
        expected="collectives for the weights only",
        measured="{called}",
    ),
)
EACH = "for each of {case.units} units one all-gather in forward, one more and a reduce-scatter in backward"
KEPT = Table[UnitRun](
    Misconception(
        "whole_all_reduce",
        "You all-reduce whole gradients, and then use one share of them. A reduce-scatter sends half as much.",
        shown_by=lambda run: run.put_in("backward", "all_reduce") >= 2 * run.case.units * run.case.total,
        expected=EACH,
        measured="{called}",
    ),
    Misconception(
        "gathered_weights_kept",
        "You gather nothing in backward, so it runs on weights that autograd or you kept, or on others. Free the "
        "weights after forward, and gather again in backward.",
        shown_by=lambda run: not run.count("backward", "all_gather"),
        expected="an all-gather of each unit in backward (and a peak of at most {bound})",
        measured="no all-gather in backward (a peak of {peak})",
    ),
    Misconception(
        "more_units_held",
        "You gather again in backward, and hold more than five whole units at the peak. Look for a list, an attribute "
        "or a graph that keeps weights or whole gradients.",
        shown_by=lambda run: run.peak_bytes > run.bound_bytes,
        expected="peak at most {bound} on rank {rank} of {case.world_size}",
        measured="peak {peak}",
    ),
    Misconception(
        "gathered_too_often",
        "You gather a unit more than once in one direction. Gather its vector once, and use it for all that needs it.",
        shown_by=lambda run: max(run.count(part, "all_gather") for part in ("forward", "backward")) > run.case.units,
        expected=EACH,
        measured="{called}",
    ),
    Misconception(
        "other_collectives",
        "You make other collectives than a unit needs. Count yours per unit in both directions.",
        shown_by=lambda run: (
            run.count("forward", "all_gather") != run.case.units
            or run.count("backward", "all_gather") != run.case.units
            or run.count("backward", "reduce_scatter") != run.case.units
        ),
        expected=EACH,
        measured="{called}",
    ),
)
