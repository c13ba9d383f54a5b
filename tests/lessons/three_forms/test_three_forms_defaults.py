"""The truth about the Trainer's defaults is proven on runs; answers that no single misconception gives are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from grader.judging.lessons.three_forms.defaults import TABLE, judge_breaking_defaults, leads_elsewhere
from grader.lessons.three_forms.defaults import DEFAULTS, defaults_cases
from grader.observation import Observation

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


@pytest.mark.parametrize("updates", [1, 3])
@pytest.mark.parametrize("scale", [0.1, 20.0])
def test_each_default_turned_on_alone_does_to_a_run_what_the_judge_says(updates, scale, tmp_path) -> None:
    rows = make_rows(updates, scale)
    weights, norm = train_raw(rows)
    truth = leads_elsewhere(updates, norm)
    assert (norm > 1) == (scale > 1)
    for default in (None, *DEFAULTS):
        trained = train_with_trainer(rows, default, tmp_path)
        distance = float(torch.linalg.vector_norm(trained - weights) / torch.linalg.vector_norm(weights))
        assert (distance > 1e-5) == (default is not None and truth[default]), (default, distance)


def judge(seed: int, **changed: object) -> str:
    """Judge right answers in which those to some defaults are replaced: a value, or a function of the case."""
    answers = [
        truth | {key: value(case) if callable(value) else value for key, value in changed.items()}
        for case, truth in zip(defaults_cases(seed), TABLE.truths(seed), strict=True)
    ]
    return judge_breaking_defaults(Observation({"answers": answers}), seed).code


def test_two_misconceptions_are_named_by_the_first_default() -> None:
    assert judge(0) == "passed"
    assert judge(0, sampling=True, clipping=False) == "sampling_always"
    assert judge(0, clipping=False, schedule=lambda case: case.updates > 2) == "clipping_never"
    assert judge(0, sampling=lambda case: case.updates % 2 == 0) == "unrecognised"


def test_a_list_of_the_visible_runs_is_named_on_other_runs() -> None:
    several = {case.updates for case in defaults_cases(0) if case.updates > 1}
    answer = several.__contains__
    assert judge(20011, **{key: lambda case: answer(case.updates) for key in ("sampling", "schedule")}) == (
        "visible_runs_remembered"
    )
