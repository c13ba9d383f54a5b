"""The cases of lesson 15 hold what its checks rely on."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.data_parallel.hooks import AFTER, bucket_starts, ready_bytes
from grader.lessons.data_parallel.accumulation import accumulation_cases
from grader.lessons.data_parallel.agreement import EQUAL, EQUAL_WITH_NAN, PLACES, agreement_cases
from grader.lessons.data_parallel.calls import calls_cases
from grader.lessons.data_parallel.forms import parallel_forms_cases
from grader.lessons.data_parallel.hooks import hooks_cases

SEEDS = (0, 20011)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_start_apart_in_every_parameter_and_have_other_rows(seed: int) -> None:
    for case in hooks_cases(seed):
        first, *others = [case.make_model(rank) for rank in range(case.world_size)]
        for other in others:
            assert not any(
                torch.equal(one, two) for one, two in zip(first.parameters(), other.parameters(), strict=True)
            )
        rows = [case.make_batches(rank)[0][0] for rank in range(case.world_size)]
        assert not any(torch.equal(rows[0], other) for other in rows[1:])


@pytest.mark.parametrize("seed", SEEDS)
def test_traps_of_the_hooks(seed: int) -> None:
    plain, tied, frozen = hooks_cases(seed)
    assert tied.world_size % 2 and {case.world_size for case in (plain, tied, frozen)} == {2, 3, 4}
    model = tied.make_model(0)
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    assert len(names) == len(list(model.parameters())) + 1
    assert [p.requires_grad for p in frozen.make_model(1).parameters()].count(False) == 2
    assert {len(order) for order in frozen.orders} == {2, 3}
    in_order = [one.nbytes for one in reversed(list(model.parameters()))]
    assert ready_bytes(tied)[0] != in_order


@pytest.mark.parametrize("seed", SEEDS)
def test_full_buckets_are_sent_early_and_an_open_one_is_left(seed: int) -> None:
    for case in hooks_cases(seed):
        starts = [bucket_starts(ready, case.bucket_bytes) for ready in ready_bytes(case)]
        assert all(of_one[0][0] < len(ready) for of_one, ready in zip(starts, ready_bytes(case), strict=True))
    assert starts[0][-1][0] == AFTER


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_end_short_full_and_early(seed: int) -> None:
    remainders = [(case.micro_batches % case.k, case.micro_batches < case.k) for case in accumulation_cases(seed)]
    assert remainders[0] == (2, False) and remainders[1] == (1, False)
    assert remainders[2] == (0, False) and remainders[3][1]


@pytest.mark.parametrize("seed", SEEDS)
def test_parameters_of_a_prediction_have_no_values(seed: int) -> None:
    assert all(tensor.is_meta for case in calls_cases(seed) for tensor in case.make_parameters())


@pytest.mark.parametrize("seed", SEEDS)
def test_one_rank_differs_in_what_its_case_says(seed: int) -> None:
    for case in agreement_cases(seed):
        models = [case.make_model(rank) for rank in range(case.world_size)]
        vectors = [
            torch.nn.utils.parameters_to_vector(model.parameters()).detach().view(torch.int32) for model in models
        ]
        other = vectors[case.odd_rank - 1]  # of the last rank, if the first is the odd one
        odd = [rank for rank, vector in enumerate(vectors) if not torch.equal(vector, other)]
        assert odd == [case.odd_rank] * (case.kind in PLACES)
        if case.kind == "swapped":
            sums = [vector.sort().values for vector in vectors]
            assert torch.equal(sums[case.odd_rank - 1], sums[case.odd_rank])


@pytest.mark.parametrize("seed", SEEDS)
def test_each_parameter_alone_and_each_rank_of_three_differs_once(seed: int) -> None:
    cases = agreement_cases(seed)
    assert {case.kind for case in cases} - {EQUAL, EQUAL_WITH_NAN} == set(PLACES)
    assert {case.odd_rank for case in cases if case.world_size == 3 and case.kind in PLACES} == {0, 1, 2}
    for case in cases:
        if case.kind not in PLACES:
            continue
        pairs = zip(
            *(case.make_model(rank).parameters() for rank in (case.odd_rank, (case.odd_rank + 1) % 2)), strict=True
        )
        bits = [(one.detach().view(torch.int32), other.detach().view(torch.int32)) for one, other in pairs]
        assert [place for place, pair in enumerate(bits) if not torch.equal(*pair)] == list(PLACES[case.kind])


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_of_a_gradient_have_one_cause(seed: int) -> None:
    for case in accumulation_cases(seed):
        assert case.rows not in (case.world_size, case.k, case.micro_batches % case.k, case.learning_rate)
        assert case.learning_rate not in (0.1, 0.01, 0.001)


def test_a_batch_is_shared_out_evenly() -> None:
    for case in parallel_forms_cases(3):
        assert case.batch == case.world_size * case.k * case.rows
        assert len(case.make_dataset()) == case.updates * case.batch
