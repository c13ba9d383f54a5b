import os
import subprocess
import sys
import time

import pytest

from grader.testbed import hub

OFFLINE = """
from grader.testbed.hub import HubUnavailableError, load_pair_classifier, load_sentence_pairs, load_tokenizer
for load in (load_sentence_pairs, load_tokenizer, load_pair_classifier):
    try:
        load("hub")
    except HubUnavailableError as error:
        print(error)
"""


@pytest.fixture
def closed_port(monkeypatch):
    """A hub that refuses every connection."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")


def test_built_in_source_needs_no_network(closed_port):
    pairs = hub.load_sentence_pairs(seed=1)
    assert list(pairs) == ["train", "validation"]
    tokenizer, model = hub.load_tokenizer(), hub.load_pair_classifier()
    assert model.config.vocab_size == len(tokenizer)


@pytest.mark.parametrize("load", [hub.load_sentence_pairs, hub.load_tokenizer, hub.load_pair_classifier])
def test_a_hub_that_does_not_answer_is_said_in_seconds(load, closed_port):
    start_seconds = time.monotonic()
    with pytest.raises(hub.HubUnavailableError, match=r'does not answer.*source="built-in"'):
        load("hub")
    assert time.monotonic() - start_seconds < 10


def test_an_empty_cache_offline_is_said_for_each_part(tmp_path):
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], check=True, capture_output=True, text=True, env=environment, timeout=60
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line, wanted in zip(lines, ("nyu-mll/glue (mrpc)", "the tokenizer of", "the model distilbert"), strict=True):
        assert wanted in line and 'source="built-in"' in line


def test_both_sources_give_the_same_splits_and_columns(monkeypatch):
    import datasets

    built_in = hub.load_sentence_pairs()
    glue = datasets.DatasetDict(built_in | {"test": built_in["validation"]})
    asked = []
    monkeypatch.setattr(hub, "_ask_hub", lambda *_: None)
    monkeypatch.setattr(datasets, "load_dataset", lambda *names: asked.append(names) or glue)
    loaded = hub.load_sentence_pairs("hub")
    assert asked == [("nyu-mll/glue", "mrpc")]
    assert loaded.column_names == built_in.column_names


def test_unknown_source_is_refused():
    with pytest.raises(ValueError, match='choose "built-in" or "hub"'):
        hub.load_sentence_pairs("kaggle")
