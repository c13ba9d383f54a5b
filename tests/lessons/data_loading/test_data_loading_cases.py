import math

import pytest
import torch
import torch.nn.functional as F

from grader.judging.lessons.data_loading.buckets import LEAST, SLACK, bucket_batches, padding, usual_padding
from grader.judging.lessons.data_loading.packing import LARGEST_ROUNDING, pack_rows, unpacked_logits
from grader.judging.lessons.data_loading.padding import padding_tokens
from grader.judging.lessons.data_loading.workers import workers_needed
from grader.lessons.data_loading.buckets import bucket_cases
from grader.lessons.data_loading.forms import loading_cases
from grader.lessons.data_loading.loader_logs import log_cases
from grader.lessons.data_loading.packing import packing_cases, run_packing
from grader.lessons.data_loading.padding import padding_cases


@pytest.mark.parametrize("seed", range(20))
def test_no_row_is_longer_than_a_fixed_batch_is_wide(seed):
    for case in padding_cases(seed):
        assert max(case.lengths) <= case.time
        found = padding_tokens(case.lengths, case.rows, case.time)
        assert found["fixed"] >= found["dynamic"] >= found["bucketed"] >= 0


def test_the_example_of_the_notebook():
    assert list(padding_tokens((5, 3, 8, 2, 6, 3, 7, 4, 2), 4, 8).values()) == [32, 22, 10, 8]


@pytest.mark.parametrize("seed", range(8))
def test_pools_waste_far_less_than_random_batches_whatever_is_drawn(seed):
    for case in bucket_cases(seed):
        at_random, pooled = usual_padding(case)
        limit = pooled + SLACK * (at_random - pooled)
        assert all(
            LEAST * pooled < padding(bucket_batches(case.lengths, case.rows, case.pool, own, 0), case.lengths) < limit
            for own in range(20)
        )
        all_sorted = bucket_batches(case.lengths, case.rows, case.count, 0, 0)
        assert padding(all_sorted, case.lengths) < 0.5 * LEAST * pooled


def test_one_setting_has_a_short_last_batch_and_one_has_none():
    short = [case.count % case.rows for case in bucket_cases(3)]
    assert short[0] > 1
    assert short[1] == 0
    assert short[2] == 1


@pytest.mark.parametrize("seed", range(20))
def test_packed_texts_have_the_logits_the_loss_and_the_gradient_of_each_text_alone(seed):
    for case in packing_cases(seed):
        packed = run_packing(pack_rows, case)
        alone = unpacked_logits(case)
        assert (packed["logits"][: len(alone)] - alone).abs().max() < LARGEST_ROUNDING
        rows = case.draw()
        wanted = torch.cat([F.pad(row[1:], (0, 1), value=-100) for row in rows])
        loss = F.cross_entropy(packed["logits"], packed["targets"])
        assert loss.item() == pytest.approx(F.cross_entropy(alone, wanted).item(), rel=1e-3)


def test_a_change_of_one_text_leaves_the_logits_of_the_others_alone():
    case = packing_cases(1)[0]
    model, rows = case.make_model(), case.draw()
    with torch.no_grad():
        tokens, positions, mask, _ = pack_rows(rows, case.time)
        before = model(tokens[None], positions, mask)[0]
        tokens[: len(rows[0])] = 1
        after = model(tokens[None], positions, mask)[0]
    assert torch.equal(before[len(rows[0]) :], after[len(rows[0]) :])


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_the_forms_differ_and_each_is_in_one_batch(seed):
    for case in loading_cases(seed):
        rows = case.make_dataset()["input_ids"]
        assert len(set(map(tuple, rows))) == len(rows)
        assert len(set(map(len, rows))) > 3
        batches = case.make_batches()
        assert sorted(row for batch in batches for row in batch) == list(range(case.rows))
        assert all(len(batch) % case.world_size == 0 for batch in batches)
        assert len({len(batch) for batch in batches}) > 1
        shares = [(batch, batch[rank :: case.world_size]) for batch in batches for rank in range(case.world_size)]
        assert any(
            max(len(rows[row]) for row in share) < max(len(rows[row]) for row in batch) for batch, share in shares
        )


@pytest.mark.parametrize("seed", range(50))
def test_a_log_tells_how_long_a_worker_takes_for_a_batch(seed):
    for case in log_cases(seed):
        log = case.log()
        wanted = math.ceil(case.prepare_seconds / case.busy_seconds)
        is_enough = case.workers >= wanted or 0 < case.prepare_seconds < 1.05 * case.workers * case.busy_seconds
        assert workers_needed(log) == (case.workers if is_enough else min(case.cores, wanted))
