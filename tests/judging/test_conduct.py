"""What breaks a contract although every number is right has a name: extra work, and things that are changed."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pytest

from grader.judging.lessons.checkpoint_and_resume.saving import ORDER
from grader.judging.lessons.checkpoint_and_resume.training import RESUMED
from grader.judging.lessons.compilation.forms import TRAINER as COMPILED
from grader.judging.lessons.data_parallel.forms import USE as PARALLEL
from grader.judging.lessons.data_parallel.hooks import LIBRARY
from grader.judging.lessons.distillation.runs import MODELS
from grader.judging.lessons.learning_rate_schedules.epochs import TRAINER as SCHEDULED
from grader.judging.lessons.quantization_and_lora.forms import TRAINER as QUANTIZED
from grader.judging.lessons.sharding.forms import USE as SHARDED
from grader.judging.lessons.sharding.units import CALLED


def resumed(*, extra: int) -> SimpleNamespace:
    """A call that makes the second update of two, and goes on at the right place."""
    counts = {"start": 1, "done": 1, "end": 2, "epoch": 0, "position": 1, "updates_per_epoch": 5, "micro_batches": 5}
    same = {"differs": lambda update: False, "begins_at": lambda *place: False, "loses_moments": False}
    rates = {"rates": [0.1], "right_rates": [0.1]}
    return SimpleNamespace(case=SimpleNamespace(k=1), extra=extra, started=None, **counts, **same, **rates)


def taught(**record: bool) -> SimpleNamespace:
    """A run whose teacher only answers."""
    right = {"optimized": False, "modes": [], "has_gradients": False, "graphs": [], "changed": False}
    case = SimpleNamespace(rows=4)
    return SimpleNamespace(asked=1, case=case, record=right | {"student_rows": [4]} | record)


@pytest.mark.parametrize(
    ("table", "code", "evidence"),
    [
        (ORDER, "new_content_not_in_place", SimpleNamespace(facts={"found": "old"})),
        (RESUMED, "forward_without_update", resumed(extra=1)),
        (COMPILED, "trained_in_a_loop_too", SimpleNamespace(facts={"trainer": 1, "backward": 1})),
        (PARALLEL["trainer"], "forwards_outside_trainer", SimpleNamespace(in_trainer=1, in_loop=1)),
        (LIBRARY, "function_replaced", [defaultdict(int, replaced=["torch.autograd.backward"])]),
        (MODELS, "teacher_changed", taught(changed=True)),
        (SCHEDULED, "trained_in_a_loop_too", SimpleNamespace(forwards_in_trainer=1, calls={"rows": [4, 4]})),
        (QUANTIZED, "trained_in_a_loop_too", SimpleNamespace(in_trainer=1, forwards=2)),
        (SHARDED["trainer"], "forwards_outside_trainer", SimpleNamespace(in_trainer=1, forwards=2)),
        (CALLED, "nothing_gathered", SimpleNamespace(facts={"no_outputs": "", "missing": 0, "forward": []})),
    ],
)
def test_what_breaks_a_contract_without_a_wrong_number_is_named(table, code, evidence):
    assert table.find(evidence).code == code
