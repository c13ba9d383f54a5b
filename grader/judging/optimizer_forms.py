"""Judges how one optimizer is used under Accelerate and the Trainer, and holds the loop that both must equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import torch
from torch import Tensor, nn

from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_models
from grader.judging.updates import Reference
from grader.judging.vectors import gradient_at
from grader.observation import Observation
from grader.testbed.pair_runs import DecayFormsCase
from grader.verdict import Verdict

FORMS_LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_no_update": "You hand the Trainer an optimizer whose parameters are not those of its model.",
    "trainer_micro_batches_not_seen_once": "You train on other batches. Set per_device_train_batch_size to `rows`; "
    "its default is 8.",
    "trainer_whole_group_in_one_forward": "You train on more rows at once. Set per_device_train_batch_size to `rows`; "
    "its default is 8.",
    "trainer_another_optimizer": "You train with another optimizer or other options. Look at optim of "
    "TrainingArguments, and at the optimizer that the Trainer receives.",
    "trainer_other_gradient": "You train on other rows at some updates. Look at train_sampling_strategy, and "
    "whether the dataset is changed.",
    "accelerate_no_update": "You step an optimizer that moves no parameter of this model. Look at whose it holds.",
    "accelerate_other_gradient": "You train on other rows at some updates. Go through the dataset in order, "
    "without shuffle.",
}


def _pass_forwards(case: DecayFormsCase, facts: Facts) -> Verdict | None:
    return None


def judge_usage(
    cases: Sequence[DecayFormsCase],
    observation: Observation,
    form: str,
    judge_forwards: Callable[[DecayFormsCase, Facts], Verdict | None] = _pass_forwards,
) -> Verdict | None:
    """Judge whether a form was used as taught in every case.

    Args:
        cases: What was trained.
        observation: The facts and the calls of each run, in the order of the cases.
        form: `accelerate` or `trainer`.
        judge_forwards: What a lesson asks of the forwards of the form with Accelerate.

    Returns:
        The first failed verdict, None where all is as taught.
    """
    is_trainer = form == "trainer"
    for case, facts, calls in zip(cases, observation.facts["settings"], observation.facts["calls"], strict=True):
        if is_trainer:
            verdict = _judge_trained(facts, calls)
        else:
            verdict = judge_prepared(case, facts, calls) or judge_forwards(case, facts)
        verdict = verdict or judge_models(case.updates, facts, calls, is_in_trainer=is_trainer)
        if verdict:
            return verdict
    return None


def _judge_trained(facts: Facts, calls: Facts) -> Verdict | None:
    if calls["trainer"]:
        return None
    if facts["forward_rows"]:
        look_at = "You train this model in a loop. Hand it to the Trainer, which has a loop of its own."
        return Verdict("trainer_left_out", "one Trainer.train", "a loop, and no Trainer.train", look_at)
    look_at = "You never call .train(). Trainer(...) only prepares."
    return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)


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
        look_at = "You train without Accelerate. Prepare model, optimizer and loader, and call accelerator.backward."
        return Verdict("accelerator_not_used", expected, "nothing prepared", look_at)
    for name in ("model", "optimizer", "loader"):
        if name not in calls["prepared"]:
            look_at = f"You do not prepare the {name}. Hand it to accelerator.prepare, and use what that returns."
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", look_at)
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if len(calls["backward"]) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(calls['backward']), 'call')} of accelerator.backward"
        look_at = "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss)."
        return Verdict("accelerator_backward_not_used", expected, measured, look_at)
    return None


def judge_batches(case: DecayFormsCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    """Judge how a run walked through its batches, before any gradient is compared."""
    rows, expected = list(facts["forward_rows"]), f"{case.updates} batches of {case.rows} rows, the last one shorter"
    steps = max(calls["trainer"] if form == "trainer" else calls["backward"], default=1)
    if steps > 1:
        look_at = "You accumulate gradients. One batch is one update here: leave gradient_accumulation_steps at 1."
        return Verdict("accumulated", expected, f"gradient_accumulation_steps {steps}", look_at)
    if rows == [case.rows] * (case.updates - 1):
        look_at = "You drop the rows that fill no whole batch. They are part of the epoch: look at drop_last."
        return Verdict("last_rows_left_out", expected, f"{len(rows)} batches: the short one is left out", look_at)
    if max(rows, default=case.rows) < case.rows and sum(rows) == case.rows * case.updates - 1:
        look_at = "You train on smaller batches. Look at batch_size of the loader, or per_device_train_batch_size."
        return Verdict("smaller_batches", expected, f"{len(rows)} batches of at most {max(rows)}", look_at)
    if form == "accelerate" and not facts["options"] and "optimizer" not in calls["used"]:
        look_at = "You never call optimizer.step(), so no weight moves. Call it after each backward pass."
        return Verdict("no_step", f"{case.updates} updates", "no call of optimizer.step()", look_at)
    if not all(facts["is_training"]):
        look_at = "You train in eval mode, where dropout is off. Look for a call of eval()."
        return Verdict("model_in_eval_mode", "a model in training mode", "a forward in eval mode", look_at)
    return None


def in_batches(verdict: Verdict) -> Verdict:
    """Say batch for micro-batch, and leave out the k of an accumulation, as there is none here."""
    texts = (verdict.expected, verdict.measured, verdict.look_at)
    return Verdict(verdict.code, *(text.replace("micro-batch", "batch").replace(", for k = 1", "") for text in texts))


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
