import pytest
import torch

from grader.judging.lessons.compilation.breaks import trimmed
from grader.lessons.compilation.breaks import run_captured, trimmed_cases
from grader.lessons.compilation.captured import fresh_dynamo
from grader.lessons.compilation.chunks import chunk_cases
from grader.lessons.compilation.forms import compiled_cases
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
