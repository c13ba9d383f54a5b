import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode

from grader.testbed.batches import make_token_batch
from grader.testbed.transformer import make_transformer


def parameter_count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_logits_score_every_token_at_every_position():
    tokens, _ = make_token_batch(3, 7, 50, seed=0)
    assert make_transformer(vocabulary=50)(tokens).shape == (3, 7, 50)


def test_a_position_never_sees_later_tokens():
    model = make_transformer(vocabulary=50)
    tokens, _ = make_token_batch(1, 8, 50, seed=0)
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 50
    same = torch.isclose(model(tokens), model(changed), rtol=0, atol=1e-6).all(dim=-1)[0]
    assert same.tolist() == 5 * [True] + 3 * [False]


def test_tied_head_shares_one_storage():
    free, tied = make_transformer(), make_transformer(is_head_tied=True)
    assert tied.head.weight is tied.token_embedding.weight
    assert parameter_count(free) - parameter_count(tied) == free.head.weight.numel()


@pytest.mark.parametrize("is_head_tied", [False, True])
def test_first_loss_is_that_of_a_uniform_guess(is_head_tied):
    tokens, targets = make_token_batch(8, 32, 64, seed=0)
    logits = make_transformer(vocabulary=64, is_head_tied=is_head_tied)(tokens)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    assert loss.item() == pytest.approx(torch.tensor(64.0).log().item(), rel=0.1)


def test_dropout_acts_in_train_mode_only():
    tokens, _ = make_token_batch(2, 4, 256, seed=0)
    model = make_transformer(dropout=0.5)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_without_dropout_two_forwards_agree():
    tokens, _ = make_token_batch(2, 4, 256, seed=0)
    model = make_transformer()
    assert torch.equal(model(tokens), model(tokens))


def test_seed_alone_decides_the_weights():
    before = torch.get_rng_state()
    first, again, other = make_transformer(seed=3), make_transformer(seed=3), make_transformer(seed=4)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.token_embedding.weight, other.token_embedding.weight)


def test_heads_divide_the_width():
    with pytest.raises(ValueError, match="width 10 is not a multiple of heads 4"):
        make_transformer(width=10, heads=4)


def test_it_runs_on_fake_tensors():
    with FakeTensorMode():
        tokens, _ = make_token_batch(2, 16, 256, seed=0)
        make_transformer(layers=1)(tokens).sum().backward()
