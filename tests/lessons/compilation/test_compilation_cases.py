import pytest
import torch

from grader.judging.lessons.compilation.breaks import trimmed
from grader.judging.lessons.compilation.lean_step import LeanUpdate, slow_step, step_gradient
from grader.lessons.compilation.breaks import run_captured, trimmed_cases
from grader.lessons.compilation.captured import fresh_dynamo
from grader.lessons.compilation.chunks import chunk_cases, chunk_peak_case, chunk_rows_case
from grader.lessons.compilation.forms import compiled_cases
from grader.lessons.compilation.lean_step import make_lean_case, run_step, step_gradient_cases
from grader.lessons.compilation.traffic import traffic_cases


@pytest.mark.parametrize("seed", range(20))
def test_chains_keep_results_and_have_small_inputs_and_unread_ones(seed):
    cases = traffic_cases(seed)
    assert any(len(case.kept) > 1 for case in cases)
    for case in cases:
        results = {result for result, _ in case.operations}
        assert set(case.kept) <= results
        assert "out" in case.kept
        assert min(size for _, size in case.inputs) < case.elements
    read = {name for _, names in cases[-1].operations for name in names}
    assert any(name not in read for name, _ in cases[-1].inputs)


@pytest.mark.parametrize("seed", range(8))
def test_batches_have_as_many_outliers_as_they_say(seed):
    for case in trimmed_cases(seed):
        model = case.make_model()
        for outliers, (inputs, targets) in zip(case.outliers, case.draw(), strict=True):
            losses = (model(inputs) - targets).square().mean(dim=1)
            assert int((losses > case.limit).sum()) == outliers
            assert len(losses.unique()) == len(losses), "ties would be counted together"
    assert case.limit in losses.tolist(), "a row of the last case is exactly at the limit"


def test_the_reference_is_one_graph_without_breaks():
    _, facts = run_captured(trimmed, trimmed_cases(3)[1])
    assert facts == {"graphs": 1, "breaks": [], "calls": 4}


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of Inductor's own modules
def test_a_recorded_inductor_needs_no_compiler():
    with fresh_dynamo() as captured:
        doubled = torch.compile(lambda x: 2 * x)(torch.ones(3))
    assert captured.backends == ["inductor"]
    assert doubled.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("seed", range(8))
def test_targets_are_ignored_and_the_last_chunk_is_short(seed):
    cases = chunk_cases(seed)
    assert all((case.draw()[2] != -100).any() for case in cases)
    assert any(case.rows % case.chunk_rows for case in cases)
    chunks = cases[2].draw()[2].split(cases[2].chunk_rows)
    assert any((chunk == -100).all() for chunk in chunks)


@pytest.mark.parametrize("seed", range(4))
def test_every_batch_of_a_compiled_run_is_full(seed):
    for case in compiled_cases(seed):
        assert len(case.make_dataset()) == case.rows * case.updates


@pytest.mark.parametrize("seed", range(8))
def test_two_texts_are_as_long_as_the_context_allows_and_the_others_are_short(seed):
    case = make_lean_case(seed)
    *short, shorter, longer = sorted(case.lengths)
    assert case.context - 12 < shorter <= longer < case.context
    assert max(short) < case.context // 6
    assert len(short) >= 9, "text by text, it takes more than four times the operators"


@pytest.mark.parametrize("seed", range(8))
def test_neither_the_size_nor_the_number_of_chunks_is_that_of_the_peak(seed):
    case, peak = chunk_rows_case(seed), chunk_peak_case(seed)
    assert case.width < case.chunk_rows < case.rows / case.chunk_rows, "weights are not taken for rows"
    assert case.rows / 16 > case.chunk_rows < peak.chunk_rows


@pytest.mark.parametrize("seed", range(4))
def test_a_gradient_is_explained_as_a_sum_over_its_tokens(seed):
    case = step_gradient_cases(seed)[1]
    update = LeanUpdate(case, {}, step_gradient(case))
    assert update.weights is not None
    assert update.missing == 0
    assert update.counted_as == pytest.approx(update.targets, rel=1e-2)


def test_a_leaner_step_is_recorded_with_what_it_holds():
    case = step_gradient_cases(0)[0]
    facts, tensors = run_step(slow_step, case)
    assert facts["forwards"] == [len(case.lengths) * case.context]
    assert facts["logit_rows"] == len(case.lengths) * case.context
    assert facts["score_numbers"] == len(case.lengths) * case.heads * case.context**2
    assert (facts["updates"], facts["gradients_left"], facts["computed_in"]) == (1, 0, ["float32"])
    torch.testing.assert_close(tensors["gradient"], step_gradient(case), rtol=1e-4, atol=1e-6)
