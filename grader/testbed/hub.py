"""The same task in two sources: built in, or from the Hugging Face hub for Colab and GPU machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from grader.testbed.extras import import_train_extra

if TYPE_CHECKING:
    from datasets import DatasetDict
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Source = Literal["built-in", "hub"]
Loaded = TypeVar("Loaded")

DATASET = ("nyu-mll/glue", "mrpc")
MODEL = "distilbert/distilbert-base-cased"
ANSWER_SECONDS = 5.0


class HubUnavailableError(ConnectionError):
    """The hub cannot be reached, and the files are not in its cache."""

    def __init__(self, wanted: str, cause: str):
        super().__init__(
            f"{wanted} cannot be loaded from the Hugging Face hub: {cause}. "
            'Without a network use source="built-in", the default, which downloads nothing. '
            "If an earlier run has downloaded the files, set HF_HUB_OFFLINE=1 before Python starts to read its cache."
        )


def load_sentence_pairs(source: Source = "built-in", *, seed: int = 0) -> DatasetDict:
    """Load the splits "train" and "validation" of a sentence-pair task.

    Args:
        source: "built-in" for the pairs of this project, "hub" for GLUE MRPC: do both sentences say the same?
        seed: Seed of the built-in pairs.

    Returns:
        Two Datasets with columns sentence1, sentence2, label and idx.

    Raises:
        HubUnavailableError: if the hub does not answer.
        ValueError: if the source is unknown.

    Source: Dolan and Brockett 2005, Automatically Constructing a Corpus of Sentential Paraphrases.
    """
    datasets = import_train_extra("datasets")
    if _is_hub(source):
        loaded = _from_hub(f"the dataset {DATASET[0]} ({DATASET[1]})", lambda: datasets.load_dataset(*DATASET))
        splits = {split: loaded[split] for split in ("train", "validation")}
    else:
        from grader.testbed.sentence_pairs import make_sentence_pairs

        splits = {"train": make_sentence_pairs("train", seed=seed)}
        splits["validation"] = make_sentence_pairs("validation", seed=seed)
    pairs: DatasetDict = datasets.DatasetDict(splits)
    return pairs


def load_tokenizer(source: Source = "built-in") -> PreTrainedTokenizerBase:
    """Load the tokenizer of the model that `load_pair_classifier` loads from the same source.

    Args:
        source: "built-in" or "hub".

    Raises:
        HubUnavailableError: if the hub does not answer.
        ValueError: if the source is unknown.
    """
    if _is_hub(source):
        auto = import_train_extra("transformers").AutoTokenizer
        loaded: PreTrainedTokenizerBase = _from_hub(f"the tokenizer of {MODEL}", lambda: auto.from_pretrained(MODEL))
        return loaded
    from grader.testbed.tokenizer import make_tokenizer

    return make_tokenizer()


def load_pair_classifier(source: Source = "built-in", *, seed: int = 0) -> PreTrainedModel:
    """Load a classifier of sentence pairs with two labels, in train mode.

    Args:
        source: "built-in" for a small BERT with seeded weights, "hub" for the pretrained distilbert-base-cased.
        seed: Seed of the weights; of the new head alone for "hub". The global random state stays as it was.

    Raises:
        HubUnavailableError: if the hub does not answer.
        ValueError: if the source is unknown.
    """
    if not _is_hub(source):
        from grader.testbed.pretrained import make_pair_classifier

        return make_pair_classifier(seed=seed)
    import torch

    auto = import_train_extra("transformers").AutoModelForSequenceClassification
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _from_hub(f"the model {MODEL}", lambda: auto.from_pretrained(MODEL, num_labels=2))
    trained: PreTrainedModel = model.train()
    return trained


def _is_hub(source: str) -> bool:
    if source not in ("built-in", "hub"):
        raise ValueError(f'source is {source!r}: choose "built-in" or "hub"')
    return source == "hub"


def _from_hub(wanted: str, load: Callable[[], Loaded]) -> Loaded:
    """Call `load`; say in one sentence what failed, within seconds."""
    hub = import_train_extra("huggingface_hub")
    if not hub.constants.HF_HUB_OFFLINE:
        _ask_hub(hub, wanted)
    try:
        return load()
    # Offline, `datasets` reports an empty cache as ValueError; all else that the hub raises is an OSError.
    except (OSError, ValueError) as error:
        raise HubUnavailableError(wanted, _first_line(error)) from error


def _ask_hub(hub: Any, wanted: str) -> None:
    """Ask the hub for one answer first: the libraries themselves try for minutes before they give up."""
    endpoint = hub.constants.ENDPOINT
    try:
        # The session of the library, so that its proxies count.
        hub.utils.get_session().head(endpoint, timeout=ANSWER_SECONDS)
    # The session raises other classes of error from one version of the library to the next.
    except Exception as error:
        raise HubUnavailableError(wanted, f"{endpoint} does not answer ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
