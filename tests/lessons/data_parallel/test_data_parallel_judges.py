"""What the judges of lesson 15 do with right, invalid and borderline evidence."""

from __future__ import annotations

import pytest
import torch
from data_parallel_runs import agreement_run, epoch_run, hooks_run

from grader.judging.lessons.data_parallel.accumulation import judge_data_parallel_updates
from grader.judging.lessons.data_parallel.agreement import judge_data_parallel_agreement
from grader.judging.lessons.data_parallel.epoch_traffic import judge_data_parallel_traffic
from grader.judging.lessons.data_parallel.hooks import judge_synchronised_gradients, judge_synchronised_overlap
from grader.observation import Observation

RUNS = {
    judge_synchronised_gradients: hooks_run,
    judge_synchronised_overlap: hooks_run,
    judge_data_parallel_updates: epoch_run,
    judge_data_parallel_traffic: epoch_run,
    judge_data_parallel_agreement: agreement_run,
}


@pytest.mark.parametrize("seed", (0, 20011))
@pytest.mark.parametrize("judge", RUNS)
def test_right_runs_pass(seed: int, judge) -> None:
    assert judge(RUNS[judge](seed), seed).is_passed


@pytest.mark.parametrize("judge", RUNS)
def test_reports_of_another_number_of_ranks_are_refused(judge) -> None:
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(4)]}), 0)


@pytest.mark.parametrize("judge", [judge_synchronised_gradients, judge_data_parallel_updates])
def test_missing_tensors_are_refused(judge) -> None:
    with pytest.raises(LookupError):
        judge(Observation(RUNS[judge](0).facts, {}), 0)


@pytest.mark.parametrize("judge", [judge_synchronised_gradients, judge_data_parallel_updates])
def test_a_gradient_of_nan_is_named(judge) -> None:
    run = RUNS[judge](0)
    spoilt = torch.full_like(run.tensors["0.1.gradient.0"], float("nan"))
    tensors = {**run.tensors, "0.1.gradient.0": spoilt}
    assert judge(Observation(run.facts, tensors), 0).code == "gradient_not_finite"


@pytest.mark.parametrize(("extra_bytes", "code"), [(8, "passed"), (200, "bytes_beside_gradients")])
def test_one_number_per_micro_batch_may_be_reduced_for_a_log(extra_bytes: int, code: str) -> None:
    run = epoch_run(0)
    for ranks in run.facts["settings"]:
        for facts in ranks:
            facts["calls"][0].append(["all_reduce", extra_bytes])
    assert judge_data_parallel_traffic(run, 0).code == code


@pytest.mark.parametrize(
    ("bits", "formats", "code"),
    [
        (16, ["float32"], "digest_too_short"),
        (26, ["float32"], "digest_in_float32"),
        (31, ["int64"], "digest_too_short"),
        (32, ["int64"], "passed"),
        (256, ["float32"], "passed"),
    ],
)
def test_a_digest_has_32_bits_at_least(bits: int, formats: list[str], code: str) -> None:
    assert judge_data_parallel_agreement(agreement_run(0, bits=bits, formats=formats), 0).code == code


@pytest.mark.parametrize(
    ("missed", "code"), [((), "weights_sent"), (("negative zero",), "weights_sent"), (("swapped",), "order_forgotten")]
)
def test_weights_that_are_sent_are_named_before_what_they_miss_as_numbers(missed: tuple[str, ...], code: str) -> None:
    assert judge_data_parallel_agreement(agreement_run(0, missed, share=10**6), 0).code == code


@pytest.mark.parametrize(("number", "code"), [(0, "weights"), (1, "trained_parameters"), (2, "gradients")])
def test_a_test_that_changes_the_model_is_named(number: int, code: str) -> None:
    run = agreement_run(0)
    run.facts["settings"][1][2]["changed"][3][number] = True
    assert judge_data_parallel_agreement(run, 0).code == f"{code}_changed"


def test_a_list_that_is_used_up_is_named() -> None:
    run = epoch_run(0)
    run.facts["settings"][0][1]["list_changed"] = True
    assert judge_data_parallel_updates(run, 0).code == "micro_batches_changed"
