import subprocess
import sys
from collections import Counter

import pytest

from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.subjects import SUBJECTS

DIGEST = (
    "import hashlib, json\n"
    "from grader.testbed.sentence_pairs import make_sentence_pairs\n"
    "print(hashlib.sha256(json.dumps(make_sentence_pairs(seed=5)[:]).encode()).hexdigest())\n"
)


def sentences(split, seed):
    pairs = make_sentence_pairs(split, seed=seed)
    return [*pairs["sentence1"], *pairs["sentence2"]]


def subject_of(sentence):
    found = [s.name for s in SUBJECTS if any(phrase in sentence.lower() for phrase in (*s.objects, *s.agents))]
    assert len(found) == 1, sentence
    return found[0]


def test_columns_are_those_of_glue_mrpc():
    pairs = make_sentence_pairs("validation")
    assert pairs.column_names == ["sentence1", "sentence2", "label", "idx"]
    assert pairs["idx"][:] == list(range(480))
    assert make_sentence_pairs().num_rows == 2400


def test_label_says_whether_the_subjects_agree():
    pairs = make_sentence_pairs("validation")
    for row in pairs:
        assert row["label"] == (subject_of(row["sentence1"]) == subject_of(row["sentence2"]))


def test_labels_and_subjects_balance():
    pairs = make_sentence_pairs("train")
    assert Counter(pairs["label"]) == {0: 1200, 1: 1200}
    for column in ("sentence1", "sentence2"):
        counts = Counter(zip(map(subject_of, pairs[column]), pairs["label"], strict=True))
        assert len(counts) == 2 * len(SUBJECTS)
        assert set(counts.values()) == {1200 // len(SUBJECTS)}


def test_no_sentence_is_in_both_splits_whatever_the_seeds():
    train = {sentence for seed in range(3) for sentence in sentences("train", seed)}
    assert not train & {sentence for seed in range(3) for sentence in sentences("validation", seed)}


def test_sentences_are_sentences():
    for sentence in sentences("validation", 0):
        assert sentence[0].isupper() and sentence[-1] in ".?"
        assert "{" not in sentence and "  " not in sentence
        assert 5 <= len(sentence.split()) <= 20


def test_most_sentences_are_different():
    drawn = sentences("train", 0)
    assert len(set(drawn)) > 0.6 * len(drawn)


def test_seed_decides_the_pairs_in_every_process():
    printed = {
        subprocess.run([sys.executable, "-c", DIGEST], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert len(printed) == 1
    assert sentences("train", 5) != sentences("train", 6)


def test_nothing_is_printed_and_nothing_is_written(tmp_path):
    script = (
        "from grader.testbed.sentence_pairs import make_sentence_pairs\n"
        "from grader.testbed.tokenizer import make_tokenizer, tokenize_pairs\n"
        "tokenize_pairs(make_sentence_pairs('validation'), make_tokenizer())\n"
    )
    environment = {"HOME": str(tmp_path), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.stdout + done.stderr == ""
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("pairs", [0, 3, -2])
def test_labels_that_cannot_balance_are_refused(pairs):
    with pytest.raises(ValueError, match=f"pairs is {pairs}: choose an even number"):
        make_sentence_pairs(pairs=pairs)


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match="choose one of train, validation"):
        make_sentence_pairs("test")


def test_missing_extra_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'lean-training\[train\]'"):
        make_sentence_pairs(pairs=2)
