import time

import pytest
import torch
from torch._subclasses import FakeTensorMode

from grader.testbed.pretrained import make_bert, make_bert_large, make_distilbert


def parameter_count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_distilbert_has_the_published_size():
    with FakeTensorMode():
        model = make_distilbert()
    assert parameter_count(model) == 65_783_042
    assert len(list(model.parameters())) == 104
    assert model.config._attn_implementation == "sdpa"
    assert (model.config.dropout, model.config.attention_dropout, model.config.seq_classif_dropout) == (0.1, 0.1, 0.2)


def test_distilbert_without_dropout_has_none():
    with FakeTensorMode():
        model = make_distilbert(dropout=0.0, attention="eager")
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}
    assert model.config._attn_implementation == "eager"


def test_bert_large_has_the_published_size_and_is_built_in_seconds():
    start_seconds = time.monotonic()
    with FakeTensorMode():
        model = make_bert_large()
    assert time.monotonic() - start_seconds < 10
    assert parameter_count(model) == 335_143_938
    assert model.config._attn_implementation == "eager"


def test_bert_large_keeps_its_width_with_fewer_layers():
    with FakeTensorMode():
        two, four = (parameter_count(make_bert_large(layers=layers)) for layers in (2, 4))
    assert two + 11 * (four - two) == 335_143_938


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_bert_scores_two_labels(attention):
    model = make_bert(hidden=32, vocabulary=50, longest_time=16, attention=attention)
    assert model.config._attn_implementation == attention
    assert model(input_ids=torch.zeros(3, 16, dtype=torch.int64)).logits.shape == (3, 2)


def test_both_attentions_compute_the_same():
    tokens = torch.arange(32).view(2, 16)
    eager, sdpa = (make_bert(hidden=32, vocabulary=50, attention=name, dropout=0.0) for name in ("eager", "sdpa"))
    torch.testing.assert_close(eager(input_ids=tokens).logits, sdpa(input_ids=tokens).logits)


def test_a_new_model_is_in_train_mode_and_drops():
    model = make_bert(hidden=32, vocabulary=50)
    tokens = torch.arange(32).view(2, 16)
    assert model.training
    assert not torch.equal(model(input_ids=tokens).logits, model(input_ids=tokens).logits)


def test_seed_alone_decides_the_weights():
    before = torch.get_rng_state()
    first, again, other = (dict(make_bert(hidden=32, vocabulary=50, seed=s).named_parameters()) for s in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])
