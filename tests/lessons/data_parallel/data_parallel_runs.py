"""Reports of right runs of lesson 15, made without any rank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.lessons.data_parallel.accumulation import _references
from grader.judging.lessons.data_parallel.epoch_traffic import EpochTraffic
from grader.judging.lessons.data_parallel.hooks import AFTER, bucket_starts, ready_bytes, right_updates
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.lessons.data_parallel.agreement import PLACES, agreement_cases
from grader.lessons.data_parallel.hooks import HooksCase, hooks_cases
from grader.observation import Observation, decode_observation, encode_observation


def sent(observation: Observation) -> Observation:
    """The observation as a judge gets it."""
    return decode_observation(encode_observation(observation))


def weights_of(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def hooks_run(seed: int) -> Observation:
    """What `observe_hooks` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(hooks_cases(seed)):
        settings.append([hooks_facts(case) for _ in range(case.world_size)])
        for rank in range(case.world_size):
            tensors[f"{number}.{rank}.weights.0"] = weights_of(case.make_model(0))
            for index, update in enumerate(right_updates(case)):
                tensors[f"{number}.{rank}.gradient.{index}"] = update.mean
                tensors[f"{number}.{rank}.weights.{index + 1}"] = update.weights
    return sent(Observation({"settings": settings}, tensors))


def hooks_facts(case: HooksCase) -> dict[str, Any]:
    """The facts of a rank that sends full buckets in backward, and the open one in finish."""
    backwards = []
    for ready in ready_bytes(case):
        starts, events = bucket_starts(ready, case.bucket_bytes), []
        for number, size in enumerate(ready, start=1):
            events += [["ready", size], *(["start", held] for when, held in starts if when == number)]
        events += [["end of backward", 0], *(["start", held] for when, held in starts if when == AFTER)]
        backwards.append(events + [["wait", 0]] * len(starts))
    return {
        "events": backwards,
        "stopped": "",
        "ddp_made": 0,
        "unwaited": 0,
        "parameters_changed": False,
        "replaced": [],
    }


def epoch_run(seed: int) -> Observation:
    """What `observe_accumulation` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(accumulation_cases(seed)):
        settings.append([epoch_facts(case, rank) for rank in range(case.world_size)])
        for rank in range(case.world_size):
            reference, weights, first = _references(case, rank)[0], weights_of(case.make_model()), 0
            for update, end in enumerate(reference.boundaries):
                gradient = torch.stack([reference.gradient(weights, index) for index in range(first, end)]).mean(dim=0)
                tensors[f"{number}.{rank}.gradient.{update}"] = gradient
                tensors[f"{number}.{rank}.weights.{update}"] = weights
                weights, first = weights - case.learning_rate * gradient, end
            tensors[f"{number}.{rank}.weights.{update + 1}"] = weights
    return sent(Observation({"settings": settings}, tensors))


def epoch_facts(case: AccumulationCase, rank: int) -> dict[str, Any]:
    groups = EpochTraffic(case, {}).groups
    own = range(rank, case.world_size * case.micro_batches, case.world_size)
    all_reduce = ["all_reduce", weights_of(case.make_model()).nbytes]
    facts = {"events": [event for size in groups for event in [*["forward", "backward"] * size, "update"]]}
    facts |= {"forward_rows": [case.rows] * len(own), "seen": [[index] for index in own]}
    facts |= {"is_synchronised": [index + 1 == size for size in groups for index in range(size)]}
    facts |= {"ddp_made": 0, "other_steps": 0, "list_changed": False, "no_sync_entered": 1, "no_sync_called": 1}
    return facts | {"calls": [*([all_reduce] for _ in groups), []]}


def agreement_run(
    seed: int, missed: tuple[str, ...] = (), share: int = 64, bits: int = 256, **facts: Any
) -> Observation:
    """What `observe_agreement` reports of a test that misses some kinds of differences.

    Args:
        seed: Of the cases.
        missed: The kinds.
        share: Bytes of a digest.
        bits: Bits of it that vary.
        **facts: More facts of every rank.
    """
    settings = []
    for size in (2, 3):
        cases = [case for case in agreement_cases(seed) if case.world_size == size]
        common = {"answers": [case.kind not in PLACES or case.kind in missed for case in cases]}
        common |= {"calls": [[["all_reduce", share]]] * len(cases), "changed": [[False] * 3] * len(cases)}
        settings.append([common | {"varying_bits": bits, "salted": [], "formats": ["int64"]} | facts] * size)
    return sent(Observation({"settings": settings}))
