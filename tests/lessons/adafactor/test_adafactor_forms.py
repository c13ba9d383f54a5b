from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers.optimization import Adafactor

from grader.judging.lessons.adafactor.forms import judge_adafactor_accelerate_form, judge_adafactor_trainer_form
from grader.lessons.adafactor.forms import adafactor_forms_cases
from grader.lessons.adafactor.records import record_adafactor
from grader.observation import Observation
from grader.observing.recording import record_training

OFF = {"relative_step": False, "scale_parameter": False}


def observe(seed: int, make_optimizer: Callable[[Any, float], Any], form: str = "loop") -> Observation:
    """What a check would see of a raw loop that takes the place of the watched form."""
    settings, calls, tensors = [], [], {}
    for number, case in enumerate(adafactor_forms_cases(seed)):
        model, dataset = case.make_model(), case.make_dataset()
        optimizer = make_optimizer(model, case.learning_rate)
        with record_training(model) as record, record_adafactor(model) as options:
            for start in range(0, case.rows * case.updates, case.rows):
                optimizer.zero_grad()
                model(**dataset[start : start + case.rows]).loss.backward()
                optimizer.step()
        called: dict[str, list[Any]] = {"prepared": ["model", "optimizer", "loader"], "backward": [1] * case.updates}
        called |= {"trainer": [], "forwards_in_trainer": [], "accumulate": [], "used": ["optimizer"]}
        if form == "trainer":
            called |= {"trainer": [1], "forwards_in_trainer": [case.updates]}
        settings.append(record.facts() | {"options": options})
        calls.append(called)
        tensors |= record.tensors(str(number))
    return Observation({"settings": settings, "calls": calls}, tensors)


def right(model: torch.nn.Module, lr: float) -> Adafactor:
    return Adafactor(model.parameters(), lr=lr, **OFF)


@pytest.mark.parametrize(
    ("code", "make_optimizer"),
    [
        ("momentum_set", lambda model, lr: Adafactor(model.parameters(), lr=lr, beta1=0.9, **OFF)),
        ("decay_set", lambda model, lr: Adafactor(model.parameters(), lr=lr, weight_decay=0.1, **OFF)),
        ("another_optimizer", lambda model, lr: torch.optim.SGD(model.parameters(), lr=lr)),
        ("parameters_left_out", lambda model, lr: Adafactor(list(model.parameters())[1:], lr=lr, **OFF)),
        ("option_changed", lambda model, lr: Adafactor(model.parameters(), lr=lr, clip_threshold=0.2, **OFF)),
    ],
)
def test_options_that_no_bank_shows_are_named(code: str, make_optimizer) -> None:
    verdict = judge_adafactor_accelerate_form(observe(20011, make_optimizer), 20011)
    assert verdict.code == f"accelerate_{code}"


def test_a_form_that_hides_the_cause_says_where_it_hides() -> None:
    observation = observe(0, lambda model, lr: torch.optim.AdamW(model.parameters(), lr=lr), form="trainer")
    verdict = judge_adafactor_trainer_form(observation, 0)
    assert (verdict.code, "optim of TrainingArguments" in verdict.look_at) == ("trainer_adamw_left_in", True)


def test_weights_that_are_not_finite_fail() -> None:
    observation = observe(0, right)
    observation.tensors["1.weights.4"][0] = float("nan")  # type: ignore[index]
    assert not judge_adafactor_accelerate_form(observation, 0).is_passed
