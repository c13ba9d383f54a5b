"""Judges one optimizer in one form: used as taught, equal to the raw loop, and with as many bytes of state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from grader.judging.forms import TRAINER_DEFAULTS, Facts, count
from grader.judging.kept import keep_cases
from grader.judging.step_paths import measure_miss
from grader.judging.updates import Reference, judge_gradients
from grader.judging.vectors import gradient_at, tensors_of
from grader.meters.optimizer_state import optimizer_state_bytes
from grader.observation import Observation
from grader.testbed.pair_runs import OptimizerCase
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

STATE_SLACK = 0.05  # a code book for each of two optimizers is 2 % of the smallest state here; one more moment is 40 %
Case = TypeVar("Case", bound=OptimizerCase)
Cause = tuple[str, bool, str, str]  # code, whether it shows, measured, look at

LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_no_update": "You hand the Trainer an optimizer whose parameters are not those of its model.",
    "trainer_micro_batches_not_seen_once": "You train on other batches. Set per_device_train_batch_size to `rows`; "
    "its default is 8.",
    "trainer_whole_group_in_one_forward": "You train on more rows at once. Set per_device_train_batch_size to `rows`; "
    "its default is 8.",
    "trainer_another_optimizer": "You train with another optimizer. Look at optim of TrainingArguments, and at the "
    "optimizer that the Trainer receives.",
    "trainer_learning_rate_changed": "You let the learning rate change. Set lr_scheduler_type to constant, without a "
    "warm-up.",
    "accelerate_whole_group_in_one_forward": "You train on larger batches. Set batch_size of the loader to `rows`.",
    "accelerate_micro_batches_not_seen_once": "You train on other batches. Set batch_size of the loader to `rows`.",
    "trainer_other_gradient": "You train on other rows at some updates, or with another loss. Look at "
    "train_sampling_strategy and label_smoothing_factor, and whether the dataset is changed.",
    "trainer_gradient_scaled": "You scale the gradient. Look for a factor of the loss, and at label_smoothing_factor.",
    "trainer_decay_zero": "You leave weight_decay of TrainingArguments at 0.0, so both groups are alike.",
    "trainer_updates_misplaced": "You do not update exactly once for each batch. Look at gradient_accumulation_steps.",
    "accelerate_updates_misplaced": "You do not step exactly once after each backward. Look at where step() is.",
    "accelerate_other_gradient": "You train on other rows at some updates. Go through the dataset in order, "
    "without shuffle.",
    "accelerate_decay_zero": "You decay no parameter. Look at the group with weight_decay: it is empty, or its decay "
    "is 0.0.",
}


@dataclass(frozen=True)
class FormsJudge(Generic[Case]):
    """What is particular to one optimizer.

    Attributes:
        name: Of the optimizer, for messages.
        make_optimizers: The right optimizers of a case, for a model.
        judge_options: Finds a wrong option in the facts of a run, or returns None.
        explain_state: Names why a state has other bytes.
        tolerance: How far the weights may end from the replay, as a share of its movement.
        look_at: Diagnoses by form and code, before those of `LOOK_AT`.
        surround: Makes the context of a replay on a type of device.
    """

    name: str
    make_optimizers: Callable[[Case, nn.Module], Sequence[torch.optim.Optimizer]]
    judge_options: Callable[[Case, Facts], Verdict | None]
    explain_state: Callable[[Facts], Iterable[Cause]]
    tolerance: float
    look_at: Mapping[str, str] = field(default_factory=dict)
    surround: Callable[[str], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext

    def judge(self, cases: Sequence[Case], observation: Observation, form: str) -> Verdict:
        """Judge the runs of one form, `accelerate` or `trainer`."""
        furthest, state_bytes = 0.0, 0
        for index, case in enumerate(cases):
            facts, calls = observation.facts["settings"][index], observation.facts["calls"][index]
            tensors = tensors_of(observation, index)
            verdict = _judge_usage(case, facts, calls, form) or _judge_batches(case, facts, calls, form)
            verdict = verdict or self.judge_options(case, facts)
            verdict = verdict or judge_gradients(facts, tensors, _loop_reference(case))
            if not verdict:
                verdict, distance = self._judge_run(case, facts, tensors, str(observation.facts["device"]))
                furthest, state_bytes = max(furthest, distance), int(facts["state_bytes"])
            if verdict:
                return self._in_form(verdict, form)
        measured = f"at most {furthest:.1e} of the movement from the raw loop, {state_bytes:,} bytes of state"
        return Verdict(PASSED, "the weights and the state of the raw loop", measured)

    def _judge_run(
        self, case: Case, facts: Facts, tensors: Mapping[str, Tensor], device: str
    ) -> tuple[Verdict | None, float]:
        """Replay the gradients that were seen, and compare state and weights."""
        model = case.make_model()
        start = nn.utils.parameters_to_vector(model.parameters()).detach()
        with self.surround(device):
            optimizers = self.make_optimizers(case, model)
            for update in range(case.updates):
                parts = _split(tensors[f"gradient.{update}"], model)
                for parameter, part in zip(model.parameters(), parts, strict=True):
                    parameter.grad = part
                for optimizer in optimizers:
                    optimizer.step()
        wanted = nn.utils.parameters_to_vector(model.parameters()).detach()
        distance = measure_miss(tensors, case.updates, start, wanted)
        verdict = self._judge_state(facts, sum(map(optimizer_state_bytes, optimizers)))
        if not verdict and distance > self.tolerance:
            names = ", ".join(sorted({str(update["optimizer"]) for update in facts["updates"]}))
            verdict = Verdict(
                "another_optimizer",
                f"the weights that {self.name} leads to, with lr {case.learning_rate:g}",
                f"weights that are off by {distance:.2g} of the movement, by {names}",
                f"You move the weights with another optimizer than {self.name}, or with other options. Look at both.",
            )
        return verdict, distance

    def _judge_state(self, facts: Facts, wanted: int) -> Verdict | None:
        seen = int(facts["state_bytes"])
        if abs(seen - wanted) <= STATE_SLACK * wanted:
            return None
        side = ("state_too_large", "more") if seen > wanted else ("state_too_small", "less")
        generic = f"You keep {side[1]} state than {self.name} needs. Look at what optimizer.state holds after a step."
        causes = [*self.explain_state(facts), (side[0], True, "", generic)]
        expected, measured = (f"{format_bytes(size)} of optimizer state ({size:,} bytes)" for size in (wanted, seen))
        return first_cause(causes, expected, measured)

    def _in_form(self, verdict: Verdict, form: str) -> Verdict:
        """Say batch for micro-batch, leave out the k of an accumulation, and name what the form hides."""
        key = f"{form}_{verdict.code}"
        look_at = self.look_at.get(key) or LOOK_AT.get(key) or verdict.look_at
        texts = (verdict.expected, verdict.measured, look_at)
        cleaned = (text.replace("micro-batch", "batch").replace(", for k = 1", "") for text in texts)
        return Verdict(verdict.code, *cleaned)


def first_cause(causes: Iterable[Cause], expected: str, measured: str = "") -> Verdict | None:
    """Return the verdict on the first cause that shows; its own `measured`, if any, replaces the common one."""
    for code, is_shown, said, look_at in causes:
        if is_shown:
            return Verdict(code, expected, said or measured, look_at)
    return None


def _judge_usage(case: OptimizerCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if form == "trainer":
        causes = _trainer_causes(in_loop, facts, calls)
        return first_cause(causes, "one Trainer.train of the model that your function receives")
    updates = f"{count(len(facts['updates']), 'update')}"
    expected = f"model, optimizer and loader prepared, and {count(case.updates, 'call')} of accelerator.backward"
    return first_cause(_accelerate_causes(in_loop, facts, calls), expected, updates)


def _trainer_causes(in_loop: int, facts: Facts, calls: Facts) -> Iterable[Cause]:
    look_at = "You train the model in a loop. Hand it to the Trainer, which has a loop of its own."
    yield "trainer_left_out", in_loop > 0, f"{count(in_loop, 'forward')} in a loop", look_at
    look_at = "You never call .train(). Trainer(...) only prepares."
    yield "trainer_not_used", not calls["trainer"], "Trainer.train was not called", look_at
    look_at = "You train another model, or a copy. Hand the one that you receive to the Trainer."
    yield "another_model", not facts["forward_rows"], "no forward of this model", look_at


def _accelerate_causes(in_loop: int, facts: Facts, calls: Facts) -> Iterable[Cause]:
    look_at = "You train with the Trainer. This form is a loop of your own, with an Accelerator."
    yield "trainer_in_its_place", bool(calls["trainer"]), "a call of Trainer.train", look_at
    look_at = "You train without Accelerate. Prepare model, optimizer and loader, and call accelerator.backward."
    yield "accelerator_not_used", not calls["prepared"] and not calls["backward"], "nothing prepared", look_at
    for name in ("model", "optimizer", "loader"):
        look_at = f"You do not prepare the {name}. Hand it to accelerator.prepare, and use what that returns."
        yield f"{name}_not_prepared", name not in calls["prepared"], f"no {name} prepared", look_at
    measured = f"{count(in_loop, 'forward')}, and {count(len(calls['backward']), 'call')} of accelerator.backward"
    look_at = "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss)."
    yield "accelerator_backward_not_used", len(calls["backward"]) < in_loop, measured, look_at
    look_at = "You call model.forward, which bypasses hooks. Call the model itself: model(**batch)."
    yield "forward_called", not in_loop and "backward" in facts["events"], "", look_at
    look_at = "You train another model, or a copy. Prepare and call the one that you receive."
    yield "another_model", not in_loop, "no forward of this model", look_at
    look_at = "You step the optimizer that you gave to accelerator.prepare. Step the one that it returns."
    yield "prepared_optimizer_not_used", bool(facts["updates"]) and "optimizer" not in calls["used"], "", look_at
    look_at = "You read batches from the loader that you gave to accelerator.prepare. Read those of the returned one."
    yield "prepared_loader_not_used", "loader" not in calls["used"], "", look_at


def _judge_batches(case: OptimizerCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    """Judge how a run walked through its batches, before any gradient is compared."""
    rows, expected = list(facts["forward_rows"]), f"{case.updates} batches of {case.rows} rows, the last one shorter"
    return first_cause(_batch_causes(case, rows, facts, calls, form), expected, f"{len(rows)} batches")


def _batch_causes(case: OptimizerCase, rows: Sequence[int], facts: Facts, calls: Facts, form: str) -> Iterable[Cause]:
    steps = max(calls["trainer"] if form == "trainer" else calls["backward"], default=1)
    look_at = "You accumulate gradients. One batch is one update here: leave gradient_accumulation_steps at 1."
    yield "accumulated", steps > 1, f"gradient_accumulation_steps {steps}", look_at
    look_at = "You drop the rows that fill no whole batch. They are part of the epoch: look at drop_last."
    is_dropped = rows == [case.rows] * (case.updates - 1)
    yield "last_rows_left_out", is_dropped, f"{len(rows)} batches: the short one is left out", look_at
    look_at = "You train on smaller batches. Look at batch_size of the loader, or per_device_train_batch_size."
    is_smaller = max(rows, default=case.rows) < case.rows and sum(rows) == case.rows * case.updates - 1
    yield "smaller_batches", is_smaller, f"{len(rows)} batches of at most {max(rows, default=0)}", look_at
    look_at = "You end within an epoch. Train for one whole epoch: look at max_steps, or at a break in your loop."
    epochs = ([case.rows] * (case.updates - 1) + [case.rows - 1]) * (len(rows) // case.updates + 1)
    is_within = bool(rows) and len(rows) % case.updates > 0 and rows == epochs[: len(rows)]
    yield "ended_within_epoch", is_within, f"{len(rows)} batches", look_at
    look_at = "You never call optimizer.step(), so no weight moves. Call it after each backward pass."
    yield "no_step", not facts["updates"] and form == "accelerate", "no call of optimizer.step()", look_at
    look_at = "You train in eval mode, where dropout is off. Look for a call of eval()."
    yield "model_in_eval_mode", not all(facts["is_training"]), "a forward in eval mode", look_at
    look_at = "You run the forward pass in 16 bits. Look at mixed_precision, or at bf16 and fp16."
    is_on = any(facts["is_autocast"]) or facts.get("precision", "no") != "no"
    yield "autocast_on", is_on, "a forward under autocast", look_at


def _split(vector: Tensor, model: nn.Module) -> list[Tensor]:
    """Cut one vector into tensors of the shapes of a model's parameters, in their order."""
    parts = torch.split(vector, [parameter.numel() for parameter in model.parameters()])
    return [part.view_as(parameter).clone() for part, parameter in zip(parts, model.parameters(), strict=True)]


@keep_cases
def _loop_reference(case: OptimizerCase) -> Reference:
    """Return the raw loop over the batches of a case, as the reference for gradients."""
    model, dataset = case.make_model(), case.make_dataset()
    batches = [dataset[start : start + case.rows] for start in range(0, case.rows * case.updates, case.rows)]

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**batches[number]).loss
        return mean

    return Reference(case.updates, 1, case.rows, case.learning_rate, partial(gradient_at, model, loss))


def options_of(facts: Facts) -> Mapping[str, Any]:
    """Return the options of the first update, with its optimizer's name under "optimizer"."""
    first = facts["updates"][0]
    return {**first["options"], "optimizer": str(first["optimizer"]), "weight_decay": max(first["decays"], key=bool)}
