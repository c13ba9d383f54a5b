"""Verdict on the running statistics and counters after an epoch of local SGD."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import RankEvidence, averages_of
from grader.lessons.local_sgd.epochs import EpochCase
from grader.verdict import Verdict


def judge_statistics(case: EpochCase, ranks: Sequence[RankEvidence]) -> Verdict | None:
    """Compare buffers at the end with those of simulated ranks; the weights are judged already."""
    if not case.is_normalised:
        return None
    seen = [one.tensors["statistics"] for one in ranks]
    expected = f"running statistics of {case.world_size} ranks, averaged with the parameters"
    if all(compare(one, right).is_equal for one, right in zip(seen, simulate(case, ranks), strict=True)):
        return _judge_counts(case, ranks)
    own = simulate(case, ranks, is_averaged=False)
    if all(compare(one, alone).is_equal for one, alone in zip(seen, own, strict=True)):
        look_at = "buffers drift too: the average that you are given knows them"
        return Verdict("statistics_not_averaged", expected, "each rank's own at the end", look_at)
    look_at = "what writes into the buffers: forwards in train mode, and the average, and nothing else?"
    return Verdict("other_statistics", expected, "others at the end", look_at)


def _judge_counts(case: EpochCase, ranks: Sequence[RankEvidence]) -> Verdict | None:
    for rank, evidence in enumerate(ranks):
        if evidence.facts["counts"] != [case.micro_batches]:
            expected = f"a counter of {case.micro_batches} forwards on rank {rank}"
            look_at = "counters are integers, and stay as they are"
            return Verdict("counter_changed", expected, str(evidence.facts["counts"])[:60], look_at)
    return None


def simulate(case: EpochCase, ranks: Sequence[RankEvidence], *, is_averaged: bool = True) -> list[Tensor]:
    """Run the forwards of all ranks at the weights that they had, and return their running statistics at the end."""
    models, batches = [case.make_model() for _ in ranks], case.make_micro_batches()
    ends = [0, *case.boundaries]
    for update in range(case.updates):
        for rank, (model, evidence) in enumerate(zip(models, ranks, strict=True)):
            with torch.no_grad():
                nn.utils.vector_to_parameters(evidence.tensors[f"weights.{update}"], model.parameters())
                for number in case.rows_of(rank)[ends[update] : ends[update + 1]]:
                    model(batches[number][0])
        if is_averaged and update + 1 in averages_of(case):
            for buffers in zip(*(model.buffers() for model in models), strict=True):
                if buffers[0].is_floating_point():
                    mean = torch.stack(list(buffers)).mean(dim=0)
                    for buffer in buffers:
                        buffer.copy_(mean)
    flat = [[one.flatten() for one in model.buffers() if one.is_floating_point()] for model in models]
    return [torch.cat(one) for one in flat]
