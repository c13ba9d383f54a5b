"""Which defaults of the Trainer lead elsewhere: the table is proven on runs, and each misconception is recognised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from grader.judging.lessons.three_forms.defaults import LOOK_AT, judge_breaking_defaults, leads_elsewhere
from grader.lessons.three_forms.defaults import DEFAULTS, DefaultsCase, defaults_cases
from grader.observation import Observation

SEEDS = (0, 20011)
ROWS, LEARNING_RATE = 2, 0.1

# What makes the Trainer equal to a raw loop, by the default that each argument turns off.
TURNED_OFF = {
    "sampling": {"train_sampling_strategy": "sequential"},
    "clipping": {"max_grad_norm": 0.0},
    "schedule": {"lr_scheduler_type": "constant"},
}


class Line(nn.Module):
    """A linear model that returns its loss, as the Trainer wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": (inputs @ self.weight - labels).square().mean()}


def make_rows(updates: int, scale: float) -> list[dict[str, Tensor]]:
    drawn = torch.randn(updates * ROWS, 4, generator=torch.Generator().manual_seed(1))
    return [{"inputs": row[:3], "labels": scale * row[3]} for row in drawn]


def train_raw(rows: list[dict[str, Tensor]]) -> tuple[Tensor, float]:
    """Train as the lesson's raw loop; return the weights and the largest norm of the gradient."""
    model, norms = Line(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for start in range(0, len(rows), ROWS):
        batch = {name: torch.stack([row[name] for row in rows[start : start + ROWS]]) for name in rows[0]}
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        norms.append(float(torch.linalg.vector_norm(model.weight.grad)))
        optimizer.step()
    return model.weight.detach(), max(norms)


def train_with_trainer(rows: list[dict[str, Tensor]], default: str | None, folder: Path) -> Tensor:
    """Train with one default of the Trainer left on."""
    settings = {"optim": "sgd", "learning_rate": LEARNING_RATE, "per_device_train_batch_size": ROWS}
    for name, argument in TURNED_OFF.items():
        settings |= {} if name == default else argument
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "dataloader_pin_memory": False}
    model = Line()
    arguments = TrainingArguments(output_dir=str(folder), num_train_epochs=1, use_cpu=True, **settings, **quiet)
    Trainer(model, arguments, train_dataset=rows).train()
    return model.weight.detach()


@pytest.mark.parametrize("updates", [1, 2, 4])
@pytest.mark.parametrize("scale", [0.1, 20.0])
def test_each_default_turned_on_alone_does_to_a_run_what_the_judge_says(updates, scale, tmp_path) -> None:
    rows = make_rows(updates, scale)
    weights, norm = train_raw(rows)
    truth = leads_elsewhere(DefaultsCase(updates, norm))
    assert (norm > 1) == (scale > 1)
    for default in (None, *DEFAULTS):
        trained = train_with_trainer(rows, default, tmp_path)
        distance = float(torch.linalg.vector_norm(trained - weights) / torch.linalg.vector_norm(weights))
        assert (distance > 1e-5) == (default is not None and truth[default]), (default, distance)


def judge(seed: int, key: str, answer: Callable[[DefaultsCase], bool]) -> str:
    """Judge answers that are right but for one default."""
    answers = [leads_elsewhere(case) | {key: answer(case)} for case in defaults_cases(seed)]
    return judge_breaking_defaults(Observation({"answers": answers}), seed).code


UPDATES: dict[str, Callable[[DefaultsCase], bool]] = {
    "{}_always": lambda case: True,
    "{}_never": lambda case: False,
    "{}_inverted": lambda case: case.updates == 1,
    "{}_decided_by_the_norm": lambda case: case.largest_gradient_norm > 1,
    "{}_only_with_a_large_norm": lambda case: case.updates > 1 and case.largest_gradient_norm > 1,
    "{}_also_with_a_large_norm": lambda case: case.updates > 1 or case.largest_gradient_norm > 1,
    "{}_threshold": lambda case: case.updates > 2,
}

NORM: dict[str, Callable[[DefaultsCase], bool]] = {
    "clipping_always": lambda case: True,
    "clipping_never": lambda case: False,
    "clipping_inverted": lambda case: case.largest_gradient_norm < 10,
    "clipping_decided_by_updates": lambda case: case.updates > 1,
    "clipping_only_with_several_updates": lambda case: case.updates > 1 and case.largest_gradient_norm > 1,
    "clipping_also_with_several_updates": lambda case: case.updates > 1 or case.largest_gradient_norm > 1,
    "clipping_threshold": lambda case: case.largest_gradient_norm > 10,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", ["sampling", "schedule"])
@pytest.mark.parametrize("code", UPDATES)
def test_every_misconception_of_sampling_and_schedule_is_named(code: str, key: str, seed: int) -> None:
    assert judge(seed, key, UPDATES[code]) == code.format(key)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", NORM)
def test_every_misconception_of_clipping_is_named(code: str, seed: int) -> None:
    assert judge(seed, "clipping", NORM[code]) == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("passed", lambda truth: truth),
        ("every_default_named", lambda truth: True),
        ("no_default_named", lambda truth: False),
        ("answers_inverted", lambda truth: not truth),
    ],
)
def test_one_mistake_in_all_answers_is_told_once(code: str, answer: Callable[[bool], bool], seed: int) -> None:
    answers = [{key: answer(truth) for key, truth in leads_elsewhere(case).items()} for case in defaults_cases(seed)]
    assert judge_breaking_defaults(Observation({"answers": answers}), seed).code == code


def test_a_list_of_the_visible_runs_is_named_on_other_runs() -> None:
    several = {case.updates for case in defaults_cases(0) if case.updates > 1}
    assert judge(20011, "sampling", lambda case: case.updates in several) == "visible_runs_remembered"


def test_answers_that_nothing_explains_are_not_given_a_name() -> None:
    assert judge(0, "sampling", lambda case: case.updates % 2 == 0) == "unrecognised"


def test_every_misconception_has_its_own_place_to_look_at() -> None:
    assert len(set(LOOK_AT.values())) == len(LOOK_AT)
