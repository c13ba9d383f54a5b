"""The peak memory of a whole run with Accelerate or with the Trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from grader.device import lesson_device
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord


def claim_form_peak(train: Callable[[nn.Module], object], model: nn.Module) -> dict[str, Any]:
    """Train a model twice and return what an observation says of the second run's peak, under "claims".

    The run needs two updates at least, so that its peak has the gradients and the optimizer state of a later update.
    Record nothing else around it: a recorder's copies would count. Choose a case whose plain peak is 8 MiB or more
    above the right one, since a class's grader allows a kernel 4 MiB for Python's own objects. `judge_form_peak` in
    `grader.judging.form_peaks` is the other half.

    Args:
        train: Calls the learner's function on a model, for example `lambda model: answer(model, dataset, rows, k)`.
        model: The model to train, on its device.

    Raises:
        CheckFailed: `memory_kept`, if the second run leaves more memory held than it found.
    """
    with record_library_calls(TrainingRecord()):  # nothing is recorded: it keeps the Trainer from printing
        try:
            peak = measure_claimed_peak(lambda: train(model), model=model)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            look_at = "You keep tensors that outlive your function. Look for globals, attributes and lists of losses."
            fail("memory_kept", "no tensor kept after the run", str(error), look_at)
    return claim_of(peak, lesson_device())
