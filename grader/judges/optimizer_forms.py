"""Shared by verdicts on one optimizer under Accelerate and the Trainer: usage, and the loop that both must equal."""

from __future__ import annotations

from functools import lru_cache, partial

import torch
from torch import Tensor, nn

from grader.cases.adamw import DecayFormsCase
from grader.judges.forms import TRAINER_DEFAULTS, Facts, count
from grader.judges.updates import Reference
from grader.judges.vectors import gradient_at
from grader.verdict import Verdict

FORMS_LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_no_update": "whose parameters the optimizer holds that the Trainer is given",
    "trainer_micro_batches_not_seen_once": "per_device_train_batch_size: the Trainer's default is 8",
    "trainer_whole_group_in_one_forward": "per_device_train_batch_size: the Trainer's default is 8",
    "trainer_another_optimizer": "optim of TrainingArguments, or the optimizer that the Trainer is given",
    "trainer_other_gradient": "which rows enter which update: train_sampling_strategy, or a dataset that is changed",
    "accelerate_no_update": "whose parameters the optimizer holds: it steps, and none of this model's moves",
    "accelerate_other_gradient": "which rows enter which update: in order, without shuffle",
}


def judge_prepared(case: DecayFormsCase, facts: Facts, calls: Facts) -> Verdict | None:
    """Judge whether a run with Accelerate prepared its objects, and asked it for each backward.

    Args:
        case: What was trained.
        facts: Of one run, with the rows of each forward.
        calls: Calls of Accelerate and the Trainer during that run, as a library watcher counts them.

    Returns:
        The failed verdict, None where all is as taught.
    """
    expected = f"model, optimizer and loader prepared, and {count(case.updates, 'call')} of accelerator.backward"
    if not calls["prepared"] and not calls["backward"]:
        look_at = "which lines of the raw loop Accelerate takes over"
        return Verdict("accelerator_not_used", expected, "nothing prepared", look_at)
    for name in ("model", "optimizer", "loader"):
        if name not in calls["prepared"]:
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", "what accelerator.prepare is given")
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if len(calls["backward"]) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(calls['backward']), 'call')} of accelerator.backward"
        return Verdict("accelerator_backward_not_used", expected, measured, "loss.backward() does not ask Accelerate")
    return None


def split_by_parameters(vector: Tensor, model: nn.Module) -> list[Tensor]:
    """Cut one vector into tensors of the shapes of a model's parameters, in their order."""
    parts = torch.split(vector, [parameter.numel() for parameter in model.parameters()])
    return [part.view_as(parameter).clone() for part, parameter in zip(parts, model.parameters(), strict=True)]


@lru_cache(maxsize=4)
def make_loop_reference(case: DecayFormsCase) -> Reference:
    """Return the raw loop over the batches of a case, as the reference for gradients."""
    model, dataset = case.make_model(), case.make_dataset()
    batches = [dataset[start : start + case.rows] for start in range(0, case.rows * case.updates, case.rows)]

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**batches[number]).loss
        return mean

    return Reference(case.updates, 1, case.rows, case.learning_rate, partial(gradient_at, model, loss))
