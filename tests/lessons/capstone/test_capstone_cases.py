import pytest
import torch

from grader.judging.lessons.capstone.job import _judge_results, allowed_share
from grader.judging.lessons.capstone.parts import front, peak_of_run
from grader.lessons.capstone.bert_large import bert_large_parts
from grader.lessons.capstone.job import make_job_case, mean_loss, observe_result, result_cases
from grader.lessons.capstone.parts import point_cases, run_cases
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation
from grader.testbed.bert_large_recipes import bert_large_recipe

SEEDS = range(20)
RUNS = [
    {"batch": 1},
    {"batch": 4, "accumulate": 2},
    {"batch": 2, "attention": "sdpa"},
    {"batch": 4, "is_checkpointed": True},
    {"batch": 1, "accumulate": 2, "is_checkpointed": True, "optimizer": "adafactor"},
    {"batch": 4, "accumulate": 2, "autocast_dtype": torch.float16, "optimizer": "adafactor"},
    {"batch": 8, "accumulate": 2, "autocast_dtype": torch.float16, "is_checkpointed": True, "optimizer": "adafactor"},
    {"batch": 2, "autocast_dtype": torch.float16, "attention": "sdpa", "optimizer": "adam_8bit"},
    {"batch": 1, "accumulate": 2, "attention": "sdpa", "is_checkpointed": True, "optimizer": "adam_8bit"},
    {"batch": 16, "autocast_dtype": torch.float16, "attention": "sdpa", "is_checkpointed": True},
]


@pytest.mark.turns(5)
@pytest.mark.parametrize("fields", RUNS, ids=lambda fields: "-".join(str(value) for value in fields.values()))
def test_a_composed_peak_is_that_of_a_full_forecast(fields):
    names = ("optimizer", "autocast_dtype", "attention")
    parts = bert_large_parts(**{name: fields[name] for name in names if name in fields})
    composed = peak_of_run(parts, fields["batch"], fields.get("accumulate", 1), fields.get("is_checkpointed", False))
    forecast = forecast_peak_memory(bert_large_recipe(**fields)).peak_bytes
    # Counting all gradients when the first layer runs again adds the embedding's, which come last: 2 % of the smallest.
    assert composed == pytest.approx(forecast, rel=0.025)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_moment_of_a_step_is_the_highest_of_a_run(seed):
    for place in ("copies", "kept", "inputs", "layer_forward", "layer_backward", "update", "gradients"):
        assert any(_matters(case, place) for case in run_cases(seed)), place


def _matters(case, name):
    without = case.parts.__class__(**{**vars(case.parts), name: 0})
    return peak_of_run(without, case.rows, case.micro_batches, case.is_checkpointed) < peak_of_run(
        case.parts, case.rows, case.micro_batches, case.is_checkpointed
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_not_on_a_front_is_beaten_by_something_on_it(seed):
    for points in point_cases(seed):
        best = front(points)
        for name in set(points) - best:
            assert any(points[other][0] <= points[name][0] and points[other][1] <= points[name][1] for other in best)


def test_more_flops_allow_fewer_bytes_and_too_many_allow_none():
    shares = [allowed_share(flops) for flops in (1.0, 1.02, 1.1, 1.2, 1.25)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == shares[1] > shares[2] > shares[3] == shares[4] > allowed_share(1.26) == 0


def _train(optimizer):
    def train(model, batches, learning_rate):
        stepping = optimizer(model.parameters(), learning_rate)
        for batch in batches:
            mean_loss(model, batch).backward()
            stepping.step()
            stepping.zero_grad()

    return train


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("name", "code"), [("Adam", None), ("AdamW", None), ("SGD", "plain_sgd")])
def test_the_loss_tells_sgd_from_adaptive_optimizers_at_every_seed(seed, name, code):
    runs, tensors = [], {}
    for index, case in enumerate(result_cases(seed)):
        train = _train(lambda parameters, rate: getattr(torch.optim, name)(parameters, lr=rate))
        facts, recorded = observe_result(train, case)
        runs.append(facts)
        tensors |= {f"{index}.{key}": tensor for key, tensor in recorded.items()}
    verdict = _judge_results(Observation({"runs": runs}, tensors), seed)
    assert (verdict and verdict.code) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_large_run_has_rows_to_split_and_a_vocabulary_that_dominates(seed):
    case = make_job_case(seed)
    assert case.rows == 4
    assert case.updates == 2
    assert case.vocabulary > 8 * case.width
