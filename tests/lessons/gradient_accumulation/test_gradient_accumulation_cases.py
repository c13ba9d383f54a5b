"""The cases of lesson 02 have the properties that the lesson states."""

import pytest
import torch.nn.functional as F

from grader.judging.lessons.gradient_accumulation.micro_batch_size import fitting
from grader.judging.lessons.gradient_accumulation.peak import TABLE, TOLERANCE
from grader.lessons.gradient_accumulation.forms import form_peak_case, forms_cases
from grader.lessons.gradient_accumulation.loops import updates_cases
from grader.lessons.gradient_accumulation.micro_batch_size import fit_cases
from grader.lessons.gradient_accumulation.peak import peak_cases
from grader.lessons.gradient_accumulation.tokens import token_budget_case, token_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.meters.saved_tensors import measure_saved_tensors

SEEDS = (0, 1, 20_011)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formula_is_within_the_tolerance_of_the_forecast_peak(seed):
    for case, formula in zip(peak_cases(seed), TABLE.truths(seed), strict=True):
        truth = forecast_peak_memory(case.prepare, operators="cpu").peak_bytes
        assert abs(formula / truth - 1) < TOLERANCE


def test_the_forecast_is_the_measured_peak():
    case = peak_cases(0)[2]
    assert (
        forecast_peak_memory(case.prepare, operators="cpu").peak_bytes
        == measure_peak_memory(**case.prepare()).peak_bytes
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_peak_comes_at_each_of_the_two_moments(seed):
    updates = [2 * case.parameter_bytes + case.state_bytes for case in peak_cases(seed)]
    assert {peak > update for peak, update in zip(TABLE.truths(seed), updates, strict=True)} == {True, False}


def test_activation_bytes_are_what_autograd_saves():
    case = peak_cases(0)[2]
    prepared = case.prepare()
    saved = measure_saved_tensors(lambda: prepared["model"](prepared["inputs"]).square().mean())
    assert saved.total_bytes - prepared["inputs"].nbytes == case.activation_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_some_groups_are_short_and_one_has_a_single_member(seed):
    remainders = [case.micro_batches % case.k for case in updates_cases(seed)]
    assert {0, 1} <= set(remainders)
    assert any(case.micro_batches < case.k for case in updates_cases(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_token_counts_differ_and_one_micro_batch_has_none(seed):
    first, second = token_cases(seed)
    assert max(first.target_tokens) > 5 * min(first.target_tokens)
    assert 0 in second.target_tokens
    for (_, targets), count in zip(first.make_micro_batches(), first.target_tokens, strict=True):
        assert int((targets != -100).sum()) == count


def test_the_budget_moves_the_peak_by_at_least_16_mib():
    case = token_budget_case(0)
    model, micro_batches = case.make_model(), case.make_micro_batches()

    def step():
        model.zero_grad()
        for tokens, targets in micro_batches:
            F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum").backward()

    def graphs_kept():
        model.zero_grad()
        losses = [F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()) for tokens, targets in micro_batches]
        sum(losses).backward()

    saved = measure_peak_memory(graphs_kept, model=model).peak_bytes - measure_peak_memory(step, model=model).peak_bytes
    assert saved > 16 * 2**20


def test_one_job_fits_one_row_one_only_as_a_whole_and_one_not_at_all():
    cases = fit_cases(0)
    assert [fitting(case) for case in cases[2:5]] == [[1], [1, cases[3].batch], [cases[4].batch]]
    assert (cases[5].batch in fitting(cases[5]), fitting(cases[6])) == (True, [])


def test_the_last_micro_batch_of_one_case_is_short_and_the_measured_run_has_two_updates():
    short = [case.pairs % case.rows for case in forms_cases(0)]
    assert short[0] > 0 < short[1] and forms_cases(0)[0].micro_batches % forms_cases(0)[0].k > 1
    assert len(form_peak_case(0).make_whole_batches()) == 2
