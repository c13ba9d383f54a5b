"""Judges the peak memory of a run with Accelerate or with the Trainer against the plain run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.kept import keep_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.verdict import Verdict

MakeModel = Callable[[], nn.Module]
MakeBatches = Callable[[], Sequence[Mapping[str, Tensor]]]


def judge_form_peak(
    claim: Mapping[str, Any], make_model: MakeModel, make_batches: MakeBatches, share: float, *, code: str, look_at: str
) -> Verdict:
    """Judge whether the peak of a run keeps within `share` of the plain run's peak, on the same data.

    The plain run is a raw loop: SGD, one forward and backward for each batch, and no technique.

    Args:
        claim: What `claim_form_peak` of `grader.observing.form_peaks` returned.
        make_model: Builds the case's model, whose output has a `.loss`. A method of a frozen case: results are cached.
        make_batches: Builds the batches of two updates, as keyword arguments of the model; hashable, too.
        share: The largest allowed ratio, between 0 and 1; the plain run has 1.
        code: The misconception that a miss shows.
        look_at: The diagnosis, and where the learner looks next.
    """
    baseline = plain_peak(make_model, make_batches, "cpu" if claim["device"] == "cpu" else "cuda")
    needed_bytes = distinct_storage_bytes(list(make_model().parameters()))
    return judge_budget(claimed_peak_bytes(claim, needed_bytes), baseline, share, code=code, look_at=look_at)


@keep_cases
def plain_peak(make_model: MakeModel, make_batches: MakeBatches, operators: str) -> PeakMemory:
    """Forecast the peak of the plain run, with the operators "cpu" or "cuda"; other arguments as `judge_form_peak`."""
    shapes = [{name: (values.shape, values.dtype) for name, values in batch.items()} for batch in make_batches()]

    def prepare() -> dict[str, object]:
        model = make_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = [{name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in own.items()} for own in shapes]

        def step() -> None:
            for batch in batches:
                torch.autograd.backward(model(**batch).loss)
                optimizer.step()
                optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer}

    return forecast_peak_memory(prepare, operators=operators)
