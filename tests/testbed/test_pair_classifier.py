import pytest
import torch

from grader.testbed.pretrained import make_pair_classifier
from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import make_tokenizer, tokenize_pairs

BATCH = 16
EPOCHS = 3


def held_out_labels(splits, seed):
    """Train on the first split; return predicted and true labels of the second."""
    train, validation = splits
    model = make_pair_classifier(seed=seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    order = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(train["labels"]), generator=order).split(BATCH):
            model(**{name: column[rows] for name, column in train.items()}).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    inputs = {name: column for name, column in validation.items() if name != "labels"}
    with torch.no_grad():
        predicted = model.eval()(**inputs).logits.argmax(-1)
    return predicted, validation["labels"]


def f1_score(predicted, labels):
    """F1 of label 1: twice the hits, over predicted and true ones."""
    return 2 * int((predicted & labels).sum()) / int(predicted.sum() + labels.sum())


@pytest.mark.slow
def test_held_out_pairs_are_learnt():
    splits = [tokenize_pairs(make_sentence_pairs(split), make_tokenizer())[:] for split in ("train", "validation")]
    assert f1_score(*held_out_labels(splits, seed=0)) >= 0.85


@pytest.mark.slow
def test_one_sentence_alone_stays_at_chance():
    # 2,000 held-out pairs: one standard deviation of chance is 1.1 points.
    pairs = [make_sentence_pairs("train"), make_sentence_pairs("validation", pairs=2000)]
    tokenizer = make_tokenizer()
    splits = []
    for split in pairs:
        first = tokenizer(list(split["sentence1"]), padding=True, return_tensors="pt")
        splits.append({**first, "labels": torch.tensor(split["label"][:])})
    predicted, labels = held_out_labels(splits, seed=0)
    assert (predicted == labels).float().mean().item() == pytest.approx(0.5, abs=0.05)


def test_classifier_fits_its_tokenizer():
    model = make_pair_classifier()
    assert model.config.vocab_size == len(make_tokenizer())
    assert model.config.num_hidden_layers == 2 and model.config.hidden_size == 128
    assert model.config.num_labels == 2 and model.training
    assert model.config.hidden_dropout_prob == model.config.attention_probs_dropout_prob == 0.0


def test_seed_alone_decides_the_weights():
    before = torch.get_rng_state()
    first, again, other = (dict(make_pair_classifier(seed=seed).named_parameters()) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])
