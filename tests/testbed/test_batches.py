import pytest
import torch

from grader.testbed.batches import make_padded_batch, make_token_batch


def test_targets_are_the_next_tokens():
    tokens, targets = make_token_batch(4, 9, 31, seed=0)
    assert tokens.shape == targets.shape == (4, 9)
    assert tokens.dtype == targets.dtype == torch.int64
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    assert 0 <= int(tokens.min()) and int(tokens.max()) < 31


def test_each_tensor_owns_its_own_bytes():
    tokens, targets = make_token_batch(4, 9, 31, seed=0)
    assert tokens.untyped_storage().nbytes() == targets.untyped_storage().nbytes() == 4 * 9 * 8


def test_seed_decides_the_tokens_and_the_global_random_state_is_left_alone():
    before = torch.get_rng_state()
    first, again, other = (make_token_batch(4, 9, 31, seed=seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


def test_padding_is_ignored_by_the_loss():
    tokens, targets = make_padded_batch([3, 0, 6], 6, 31, seed=0)
    assert (targets != -100).sum(dim=1).tolist() == [3, 0, 6]
    assert targets[0, 3:].eq(-100).all() and targets[0, :3].ge(0).all()
    assert tokens[0, 3:].eq(0).all()
    assert tokens.dtype == targets.dtype == torch.int64


@pytest.mark.parametrize("lengths", [[7], [-1]])
def test_lengths_fit_the_time(lengths):
    with pytest.raises(ValueError, match="each must be from 0 to time, 6"):
        make_padded_batch(lengths, 6, 31, seed=0)
