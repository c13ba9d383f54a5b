"""Short cuts to the labels: each stays within five points of chance on held-out pairs."""

import re

import pytest
import torch
import torch.nn.functional as F

from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import make_tokenizer

CHANCE = 0.5
MARGIN = 0.05
# Of chance's own noise, with 4,000 held-out pairs: one standard deviation is 0.8 points.
HELD_OUT_PAIRS = 4000


@pytest.fixture(scope="module")
def splits():
    return make_sentence_pairs("train"), make_sentence_pairs("validation", pairs=HELD_OUT_PAIRS)


def words(pairs, columns):
    """Counts of every word in the joined columns, [pairs, words]."""
    tokenizer = make_tokenizer()
    joined = [" ".join(row) for row in zip(*(pairs[column] for column in columns), strict=True)]
    counts = torch.zeros(len(joined), len(tokenizer))
    for row, numbers in enumerate(tokenizer(joined, add_special_tokens=False)["input_ids"]):
        counts[row] = torch.bincount(torch.tensor(numbers), minlength=len(tokenizer))
    return counts


def lengths(pairs):
    """Words and characters of both sentences, their differences and squares."""
    columns = [torch.tensor([len(re.findall(r"\w+", s)) for s in pairs[name]]) for name in ("sentence1", "sentence2")]
    columns += [torch.tensor([len(s) for s in pairs[name]]) for name in ("sentence1", "sentence2")]
    columns += [(columns[0] - columns[1]).abs(), (columns[2] - columns[3]).abs()]
    linear = torch.stack(columns, dim=1).float()
    return torch.cat([linear, linear**2, linear[:, :1] * linear[:, 1:2]], dim=1)


def linear_accuracy(train, train_labels, held_out, held_out_labels):
    """Accuracy of a logistic regression with a small weight penalty."""
    mean, deviation = train.mean(dim=0), train.std(dim=0).clamp_min(1e-3)
    weight = torch.zeros(train.shape[1], requires_grad=True)
    bias = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=100, line_search_fn="strong_wolfe")
    scaled = (train - mean) / deviation

    def loss():
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(scaled @ weight + bias, train_labels) + 1e-3 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    predicted = ((held_out - mean) / deviation) @ weight.detach() + bias.detach() > 0
    return (predicted == held_out_labels.bool()).float().mean().item()


def accuracy(features, splits):
    train, held_out = splits
    labels = [torch.tensor(split["label"][:]).float() for split in splits]
    return linear_accuracy(features(train), labels[0], features(held_out), labels[1])


@pytest.mark.parametrize("columns", [["sentence1"], ["sentence2"], ["sentence1", "sentence2"]])
def test_a_linear_bag_of_words_stays_at_chance(columns, splits):
    assert accuracy(lambda pairs: words(pairs, columns), splits) == pytest.approx(CHANCE, abs=MARGIN)


def test_length_stays_at_chance(splits):
    assert accuracy(lengths, splits) == pytest.approx(CHANCE, abs=MARGIN)


def test_the_baseline_learns_what_one_sentence_does_say(splits):
    """The regression is no straw man: it finds the pairs whose first sentence asks a question."""
    train, held_out = splits
    labels = [torch.tensor([s.endswith("?") for s in split["sentence1"]]).float() for split in splits]
    features = [words(split, ["sentence1"]) for split in (train, held_out)]
    assert linear_accuracy(features[0], labels[0], features[1], labels[1]) > 0.99
