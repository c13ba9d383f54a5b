import pytest
from transformers import TrainingArguments

from grader.testbed.plain_arguments import plain_trainer_arguments


def test_the_trainer_takes_them_and_what_a_lesson_adds():
    arguments = TrainingArguments(**plain_trainer_arguments() | {"optim": "adamw_torch", "weight_decay": 0.01})
    assert (arguments.optim, arguments.weight_decay, arguments.max_grad_norm) == ("adamw_torch", 0.01, 0.0)
    assert arguments.num_train_epochs == 1
    assert not arguments.do_eval


@pytest.mark.parametrize(("device", "use_cpu"), [("cpu", True), ("cuda", False), ("cuda:0", False)])
def test_a_cpu_is_asked_for_only_where_the_lesson_runs_on_one(device, use_cpu):
    assert plain_trainer_arguments(device)["use_cpu"] is use_cpu
