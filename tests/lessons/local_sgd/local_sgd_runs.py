"""Reports of right runs of lesson 16, made without any rank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.lessons.local_sgd.epochs import own_gradients
from grader.judging.lessons.local_sgd.evidence import Epoch, mean_of
from grader.judging.lessons.local_sgd.methods import method_of
from grader.judging.lessons.local_sgd.movements import Stepper, average_buffers
from grader.judging.lessons.local_sgd.traffic import average_bytes
from grader.lessons.local_sgd.averaging import averaging_cases, vectors_of
from grader.lessons.local_sgd.epochs import EpochCase, epoch_cases
from grader.lessons.local_sgd.methods import DRIVER, method_cases
from grader.observation import Observation, decode_observation, encode_observation


def sent(observation: Observation) -> Observation:
    """The observation as a judge gets it."""
    return decode_observation(encode_observation(observation))


def weights_of(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def averaging_run(seed: int, **facts: Any) -> Observation:
    """What `observe_averaging` reports of a right answer."""
    settings, tensors = [], {}
    common = {"unwaited": 0, "is_replaced": False, "is_trainable": True, "other_formats": [], "returns": False}
    common |= {"barriers": 0} | facts
    for number, case in enumerate(averaging_cases(seed)):
        made = [vectors_of(case.make_model(rank)) for rank in range(case.world_size)]
        averaged = {name: mean_of([one[name] for one in made]) for name in ("trained", "statistics")}
        calls = [["all_reduce", sum(one.nbytes for one in averaged.values())]]
        settings.append([common | {"calls": calls}] * case.world_size)
        for rank, own in enumerate(made):
            tensors |= {f"{number}.{rank}.{name}": one for name, one in (own | averaged).items()}
    return sent(Observation({"settings": settings}, tensors))


def train(case: EpochCase, *, is_local: bool = True) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
    """Train simulated ranks, and average weights as local SGD does, or gradients at each update.

    Returns:
        For each update the weights of all ranks before it, those at the end last; for each update their gradients.
    """
    epoch, steppers = Epoch(case, []), [Stepper(case) for _ in range(case.world_size)]
    weights, gradients = [[weights_of(case.make_model())] * case.world_size], []
    for update in range(epoch.updates):
        own = own_gradients(case, weights[-1], update)
        gradients.append(own if is_local else [mean_of(own)] * case.world_size)
        moved = [one.step(*pair) for one, *pair in zip(steppers, weights[-1], gradients[-1], strict=True)]
        weights.append([mean_of(moved)] * case.world_size if update + 1 in epoch.averages else moved)
    return weights, gradients


def epoch_run(seed: int, **facts: Any) -> Observation:
    """What `observe_epochs` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(epoch_cases(seed)):
        weights, gradients = train(case)
        for name, values in (("weights", weights), ("gradient", gradients)):
            for update, ranks in enumerate(values):
                tensors |= {f"{number}.{rank}.{name}.{update}": one for rank, one in enumerate(ranks)}
        statistics = statistics_of(case, weights)
        tensors |= {f"{number}.{rank}.statistics": one for rank, one in enumerate(statistics)}
        settings.append([epoch_facts(case, rank) | facts for rank in range(case.world_size)])
    return sent(Observation({"settings": settings}, tensors))


def statistics_of(case: EpochCase, weights: list[list[Tensor]]) -> list[Tensor]:
    """Run the forwards of all ranks, and return their running statistics at the end."""
    epoch, batches = Epoch(case, []), case.make_micro_batches()
    models = [case.make_model() for _ in range(case.world_size)]
    for update in range(epoch.updates):
        for rank, model in enumerate(models):
            with torch.no_grad():
                nn.utils.vector_to_parameters(weights[update][rank].clone(), model.parameters())
                for number in epoch.rows_of(rank, update):
                    model(batches[number][0])
        average_buffers(models if update + 1 in epoch.averages else models[:1])
    parts = [[one.flatten() for one in model.buffers() if one.is_floating_point()] for model in models]
    return [torch.cat([torch.zeros(0), *one]) for one in parts]


def epoch_facts(case: EpochCase, rank: int) -> dict[str, Any]:
    epoch = Epoch(case, [])
    groups = [epoch.rows_of(rank, update) for update in range(epoch.updates)]
    rows = [row for group in groups for row in group]
    calls = [["all_reduce", average_bytes(case), epoch.boundaries[one - 1], one] for one in epoch.averages]
    facts = {"events": [event for group in groups for event in [*["forward", "backward"] * len(group), "update"]]}
    facts |= {"forward_rows": [case.rows] * len(rows), "is_training": [True] * len(rows), "calls": calls}
    facts |= {"seen": [[row] for row in rows], "counts": [case.micro_batches] * case.is_normalised, "barriers": 0}
    return facts | {"is_own_step": [True] * epoch.updates}


def method_run(seed: int) -> Observation:
    """What `observe_methods` reports of a right answer."""
    settings = []
    for case in method_cases(seed):
        facts = {"answer": method_of(case), "is_text": True, "trained": 1, "left": [], "is_copy": False}
        stepping = [method_of(case) != DRIVER or rank == case.driver for rank in range(case.world_size)]
        settings.append([facts | {"steps": case.updates * steps} for steps in stepping])
    return sent(Observation({"settings": settings}))
