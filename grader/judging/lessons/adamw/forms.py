"""Judges AdamW with two groups under Accelerate and the Trainer: as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from grader.judging.decay_groups import judge_groups, make_groups
from grader.judging.forms import Facts
from grader.judging.optimizer_forms import Cause, FormsJudge, first_cause, options_of
from grader.lessons.adamw.forms import decay_forms_cases
from grader.observation import Observation
from grader.testbed.pair_runs import DecayCase
from grader.verdict import Verdict

# Fused AdamW differs from the loop over tensors by its rounding: by up to 1e-4 of the movement after five updates.
TOLERANCE = 1e-3
BETAS, EPSILON = [0.9, 0.999], 1e-8  # of torch.optim.AdamW and of the Trainer


def judge_decay_groups_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to the raw loop."""
    return FORMS.judge(decay_forms_cases(seed), observation, "accelerate")


def judge_decay_groups_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to the raw loop."""
    return FORMS.judge(decay_forms_cases(seed), observation, "trainer")


def _make_optimizers(case: DecayCase, model: nn.Module) -> list[torch.optim.Optimizer]:
    return [torch.optim.AdamW(make_groups(model, case.weight_decay), lr=case.learning_rate, foreach=False)]


def _judge_options(case: DecayCase, facts: Facts) -> Verdict | None:
    verdict = judge_groups(case, facts)
    return verdict or first_cause(_option_causes(facts), "torch.optim.AdamW with its default betas and epsilon")


def _option_causes(facts: Facts) -> Iterable[Cause]:
    options = options_of(facts)
    name, betas, eps = str(options["optimizer"]), options.get("betas"), options.get("eps")
    is_adam = name == "torch.Adam" and not options.get("decoupled_weight_decay")
    look_at = "You use Adam, whose decay passes through both moments. AdamW decays the weight itself."
    yield "adam_in_place_of_adamw", is_adam, name, look_at
    look_at = "You use another optimizer than AdamW. Look at which one you make."
    yield "another_optimizer", betas is None or eps is None, name, look_at
    look_at = f"You use betas of {betas}. Leave them at their defaults, 0.9 and 0.999."
    yield "other_betas", betas != BETAS, f"betas {betas}", look_at
    look_at = f"You use an epsilon of {eps}. Leave it at its default, {EPSILON:g}."
    yield "other_epsilon", eps != EPSILON, f"eps {eps}", look_at


def _state_causes(facts: Facts) -> Iterable[Cause]:
    look_at = "You set amsgrad, which keeps a third moment for each parameter: its largest second moment so far."
    yield "third_moment_kept", options_of(facts).get("amsgrad") is True, "", look_at


FORMS = FormsJudge("AdamW", _make_optimizers, _judge_options, _state_causes, TOLERANCE)
