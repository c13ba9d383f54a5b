"""Verdict on the steps of an epoch of local SGD, and on the averages between them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import RankEvidence, are_near, averages_of, is_near, mean_of
from grader.lessons.local_sgd.epochs import SGD, EpochCase
from grader.verdict import Verdict


class Stepper:
    """The optimizer of one simulated rank, with its state.

    Args:
        case: The setting.
    """

    def __init__(self, case: EpochCase):
        self.model = case.make_model()
        self.optimizer = case.make_optimizer(self.model)

    def step(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Return the weights after one step from given weights with a given gradient."""
        parameters = list(self.model.parameters())
        sizes = [one.numel() for one in parameters]
        with torch.no_grad():
            nn.utils.vector_to_parameters(weights.clone(), parameters)  # the parameters become views of it
        for parameter, part in zip(parameters, torch.split(gradient, sizes), strict=True):
            parameter.grad = part.view_as(parameter).clone()
        self.optimizer.step()
        return nn.utils.parameters_to_vector(parameters).detach()


def judge_movements(case: EpochCase, ranks: Sequence[RankEvidence]) -> Verdict | None:
    """Find the first step that is not the optimizer's, or an average that is missing, misplaced or wrong.

    Args:
        case: The setting.
        ranks: "weights.0", "gradient.0", ... of each rank; its gradients are judged already.
    """
    start = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    if not are_near([one.tensors["weights.0"] for one in ranks], [start] * len(ranks)):
        look_at = "the weights before the first update: all ranks start equal, and nothing has to be done"
        return Verdict(
            "other_start", "the weights that every rank was given", "others before the first update", look_at
        )
    steppers, averaged = [Stepper(case) for _ in ranks], []
    for update in range(case.updates):
        before = [one.tensors[f"weights.{update}"] for one in ranks]
        gradients = [one.tensors[f"gradient.{update}"] for one in ranks]
        after = [one.tensors[f"weights.{update + 1}"] for one in ranks]
        local = [one.step(*pair) for one, *pair in zip(steppers, before, gradients, strict=True)]
        way = max(float(torch.linalg.vector_norm(two - one)) for one, two in zip(before, local, strict=True))
        if are_near(after, [mean_of(local)] * len(ranks), way):
            averaged.append(update + 1)
        elif not are_near(after, local, way):
            expected = f"after update {update + 1} on {case.world_size} ranks, each rank's own step, or their mean"
            code, measured, look_at = _explain(case, ranks, averaged, update, (before, local, after, way))
            return Verdict(code, expected, measured, look_at)
    return _judge_places(case, averaged, ranks)


Move = tuple[list[Tensor], list[Tensor], list[Tensor], float]  # before, by own steps, after; length of the step


def _explain(
    case: EpochCase, ranks: Sequence[RankEvidence], averaged: list[int], update: int, move: Move
) -> tuple[str, str, str]:
    before, local, after, way = move
    size, mean = len(ranks), mean_of(local)
    if not all(bool(torch.isfinite(one).all()) for one in after):
        return "weights_not_finite", "NaN or infinity", "a division by zero, or steps that grow"
    for source, other in enumerate(local):
        if are_near(after, [other] * size, way):
            look_at = "a broadcast throws the other ranks' steps away: the mean of all is asked for"
            return "weights_of_one_rank", f"the weights of rank {source} on every rank", look_at
    reached = [rank for rank, one in enumerate(after) if is_near(one, mean, way)]
    if reached:
        numbers = ", ".join(map(str, reached))
        return "averaged_on_some_ranks", f"the mean on rank {numbers} only", "every rank needs the average"
    if _is_state_other(case, ranks, averaged, update, move):
        look_at = "the optimizer's state stays as it is on each rank: what changes it besides optimizer.step()?"
        return "state_averaged", "steps of an optimizer whose state was averaged too, or cleared", look_at
    factor = compare(after[0], mean).factor
    if abs(factor - 1) > 1e-3 and are_near(after, [factor * mean] * size, way):
        return _explain_factor(factor, size)
    steps = [compare(b - a, c - a) for a, b, c in zip(before, after, local, strict=True)]
    is_scaled = all(one.residual < 1e-2 and abs(one.factor - steps[0].factor) < 1e-2 for one in steps)
    measured = f"{steps[0].factor:.3g} times each rank's own step" if is_scaled else "other weights"
    if not all(one for evidence in ranks for one in evidence.facts.get("is_own_step", ())):
        look_at = "a step of another optimizer: only the one that your function is given holds the state of this rank"
        return "another_optimizer", measured, look_at
    if is_scaled:
        return "other_step", measured, "optimizer.step(), once for each group; nothing else moves the parameters"
    return "other_weights", measured, "what writes into the parameters besides optimizer.step() and average"


def _explain_factor(factor: float, size: int) -> tuple[str, str, str]:
    measured = f"exactly {factor:.4g} times the mean of the ranks' weights"
    if abs(factor - size) < 1e-3:
        return "weights_summed", measured, "an all-reduce adds: what makes a mean of the sum?"
    divisor = size / factor
    if abs(divisor - size**2) < 1e-2:
        return "averaged_and_divided", measured, "average divides already: who divides again?"
    look_at = f"a division by {divisor:.3g}: how many ranks are there?"
    return "wrong_number_of_ranks", measured, look_at


def _is_state_other(
    case: EpochCase, ranks: Sequence[RankEvidence], averaged: list[int], update: int, move: Move
) -> bool:
    """Return whether an optimizer whose state is averaged, or cleared, at each average takes the step that was seen."""
    if case.optimizer == SGD:
        return False
    _, _, after, way = move
    for is_cleared in (False, True):
        steppers = [Stepper(case) for _ in ranks]
        local: list[Tensor] = []
        for number in range(update + 1):
            pairs = [(one.tensors[f"weights.{number}"], one.tensors[f"gradient.{number}"]) for one in ranks]
            local = [stepper.step(*pair) for stepper, pair in zip(steppers, pairs, strict=True)]
            if number + 1 in averaged and is_cleared:
                for stepper in steppers:
                    stepper.optimizer.state.clear()
            elif number + 1 in averaged:
                _average_state(steppers)
        if are_near(after, local, way) or are_near(after, [mean_of(local)] * len(ranks), way):
            return True
    return False


def _average_state(steppers: Sequence[Stepper]) -> None:
    for parameters in zip(*(stepper.model.parameters() for stepper in steppers), strict=True):
        states = [stepper.optimizer.state[one] for stepper, one in zip(steppers, parameters, strict=True)]
        for name, value in states[0].items():
            if isinstance(value, Tensor):
                mean = mean_of([state[name] for state in states])
                for state in states:
                    state[name] = mean.clone()


def _judge_places(case: EpochCase, averaged: list[int], ranks: Sequence[RankEvidence]) -> Verdict | None:
    right = averages_of(case)
    if averaged == right:
        return None
    expected = f"an average after update {_list(right)} of {case.updates}, for every = {case.every}, k = {case.k}"
    measured = f"an average after update {_list(averaged)}" if averaged else "no average"
    if not averaged and any(call.forwards for call in ranks[0].calls):
        look_at = "something is sent, and every rank keeps its own weights: where does the result go?"
        return Verdict("average_not_kept", expected, "a collective, and no average of the weights", look_at)
    for places, code, look_at in _known_places(case):
        if averaged == places:
            return Verdict(code, expected, measured, look_at)
    return Verdict("averages_misplaced", expected, measured, "the condition in front of average(model)")


def _known_places(case: EpochCase) -> list[tuple[list[int], str, str]]:
    last, every, right = case.updates, case.every, averages_of(case)
    ends = [0, *case.boundaries]
    counted = [u for u in range(1, last + 1) if ends[u] // every > ends[u - 1] // every]
    exact = [u for u in range(1, last + 1) if ends[u] % every == 0]
    late, early, zero = (list(range(first, last + 1, by)) for first, by in _steps(every))
    final = "the end: the ranks have moved since the last average"
    first = "the number of an update counts from 0: what is it when the first update is done?"
    known: list[tuple[list[int], str, str]] = []
    if last % every and not case.micro_batches % every:
        look_at = "the end: your condition counts micro-batches. How many updates came after the last average?"
        known = [([one for one in right if one % every == 0], "final_average_by_micro_batches", look_at)]
    known += [
        ([], "never_averaged", "who calls average, and after which updates?"),
        ([one for one in right if one % every == 0], "no_final_average", final),
        ([last], "final_average_only", "between two averages lie `every` updates"),
        (list(range(1, last + 1)), "averaged_every_update", "every: what keeps your loop from averaging each time?"),
    ]
    for places, code, look_at in (
        (counted, "micro_batches_counted", "every counts updates: what does your condition count?"),
        (exact, "micro_batches_counted", "every counts updates: what does your condition count?"),
        (zero, "averaged_at_index_zero", first),
        (late, "averaged_one_too_late", first),
        (early, "averaged_one_too_early", first),
    ):
        known += [(places, code, look_at), (sorted({*places, last}), code, look_at)]
    return known


def _steps(every: int) -> list[tuple[int, int]]:
    """Return the first update and the distance of averages that come late, early, or begin with the first update."""
    return [(every + 1, every + 1), (max(every - 1, 1), max(every - 1, 1)), (1, every)]


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
