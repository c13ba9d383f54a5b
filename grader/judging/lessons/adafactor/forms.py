"""Judges the Adafactor of two libraries under Accelerate and the Trainer: as asked, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from grader.judging.decay_groups import judge_rates
from grader.judging.forms import Facts
from grader.judging.optimizer_forms import Cause, FormsJudge, first_cause, options_of
from grader.lessons.adafactor.forms import AdafactorFormsCase, adafactor_forms_cases
from grader.observation import Observation
from grader.testbed.extras import import_train_extra
from grader.verdict import Verdict

TOLERANCE = 1e-3  # foreach rounds otherwise, by up to 1e-4 of the movement; the nearest other option is 0.1 away
DEFAULT_RATE = 5e-5  # of TrainingArguments
DEFAULTS = {  # what changes the steps, by library
    "transformers": {"clip_threshold": 1.0, "decay_rate": -0.8},
    "torch": {"d": 1.0, "beta2_decay": -0.8},
}

LOOK_AT = {
    "trainer_adamw_left_in": "You train with AdamW. Set optim of TrainingArguments, whose default is AdamW.",
    "trainer_torch_adafactor": "You train with torch's Adafactor, which always scales by the weight. Where "
    "that of transformers is asked for, set optim of TrainingArguments to adafactor.",
    "trainer_transformers_adafactor": "You train with the Adafactor of transformers, which is what optim of "
    "TrainingArguments makes. For torch's, make the optimizer yourself, and hand it to the Trainer.",
    "trainer_decay_set": "You set a weight decay. Leave it at 0, in TrainingArguments and in your own optimizer.",
    "trainer_other_learning_rate": "You train with another learning rate. Pass lr as learning_rate of "
    "TrainingArguments, and as lr of torch.optim.Adafactor.",
}


def judge_adafactor_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to the raw loop."""
    return FORMS.judge(adafactor_forms_cases(seed), observation, "accelerate")


def judge_adafactor_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to the raw loop."""
    return FORMS.judge(adafactor_forms_cases(seed), observation, "trainer")


def _make_optimizers(case: AdafactorFormsCase, model: nn.Module) -> list[torch.optim.Optimizer]:
    if case.library == "torch":
        return [torch.optim.Adafactor(model.parameters(), lr=case.learning_rate, foreach=False)]
    adafactor = import_train_extra("transformers.optimization").Adafactor
    return [adafactor(model.parameters(), lr=case.learning_rate, relative_step=False, scale_parameter=False)]


def _judge_options(case: AdafactorFormsCase, facts: Facts) -> Verdict | None:
    if not facts["updates"]:
        return judge_rates(case, facts)
    asked = f"Adafactor of {case.library}, lr {case.learning_rate:g}"
    asked += ", without relative step and scale" if case.library == "transformers" else ""
    return first_cause(_option_causes(case, facts), asked) or judge_rates(case, facts)


def _option_causes(case: AdafactorFormsCase, facts: Facts) -> Iterable[Cause]:
    options = options_of(facts)
    name, rate = str(options["optimizer"]), facts["updates"][0]["rates"][0]
    look_at = "You train with torch's Adafactor, which scales by the weight and has no option for it. "
    look_at += "Import Adafactor from transformers, as the Trainer does."
    yield "torch_adafactor", name == "torch.Adafactor" and case.library != "torch", name, look_at
    look_at = "You train with the Adafactor of transformers where torch's is asked for. Read the argument `library`."
    yield "transformers_adafactor", name == "transformers.Adafactor" and case.library == "torch", name, look_at
    yield "adamw_left_in", name.endswith("AdamW"), name, "You train with AdamW. Make an Adafactor."
    look_at = "You train with another optimizer. Look at which one moves the weights."
    yield "another_optimizer", name != f"{case.library}.Adafactor", name, look_at
    relative, scaled = options.get("relative_step") is True, options.get("scale_parameter") is True
    look_at = "You keep the defaults of transformers. Set relative_step and scale_parameter to False."
    yield "defaults_left_on", relative and scaled, "relative_step=True, scale_parameter=True", look_at
    look_at = "You leave relative_step on, so the step sets the rate. Set it to False and pass lr."
    yield "relative_step_on", relative, "relative_step=True", look_at
    look_at = "You leave scale_parameter on, so the weight scales the rate. Set it to False."
    yield "scale_parameter_on", scaled, "scale_parameter=True", look_at
    look_at = "You set beta1 and train with a mean of updates. Momentum is not asked for."
    yield "momentum_set", bool(options.get("beta1")), f"beta1={options.get('beta1')}", look_at
    decay = options["weight_decay"]
    look_at = "You set weight_decay. Leave it at 0: nothing decays here."
    yield "decay_set", bool(decay), f"weight_decay={decay}", look_at
    for option, default in DEFAULTS[case.library].items():
        value = options.get(option)
        yield "option_changed", value != default, f"{option}={value}", f"You change {option}. Leave it at its default."
    look_at = "You train with 5e-5, the default of TrainingArguments. Pass lr as learning_rate."
    yield "default_learning_rate", rate == DEFAULT_RATE, f"a learning rate of {rate}", look_at


def _state_causes(facts: Facts) -> Iterable[Cause]:
    look_at = "You set beta1, so a first moment is kept: one number for each parameter, even where beta1 is 0. "
    look_at += "Leave it at None."
    yield "momentum_kept", options_of(facts).get("beta1") is not None, "", look_at


FORMS = FormsJudge(
    "the Adafactor that is asked for", _make_optimizers, _judge_options, _state_causes, TOLERANCE, LOOK_AT
)
