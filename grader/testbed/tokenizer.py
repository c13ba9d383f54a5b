"""A tokenizer for the sentence pairs, built here and not downloaded."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any

from grader.testbed.extras import import_train_extra
from grader.testbed.sentence_pairs import TEMPLATES, TIMES
from grader.testbed.subjects import SUBJECTS

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# The longest pair that the templates can make has 31 tokens.
LONGEST_PAIR_TOKENS = 32


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Build a lower-case WordPiece tokenizer whose words are those of the built-in sentences.

    Single letters are pieces too, so a word that it does not know is spelled and not lost.

    Returns:
        A tokenizer that joins two sentences as "[CLS] first [SEP] second [SEP]", with token type 1 for the second.

    Raises:
        ImportError: if `tokenizers` or `transformers` is missing.
    """
    tokenizers = import_train_extra("tokenizers")
    transformers = import_train_extra("transformers")
    pieces = _pieces()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, pieces[token]) for token in ("[CLS]", "[SEP]")],
    )
    special = {f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS}
    fast: PreTrainedTokenizerFast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST_PAIR_TOKENS,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **special,
    )
    return fast


def tokenize_pairs(
    dataset: Dataset,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int = LONGEST_PAIR_TOKENS,
    *,
    is_padded: bool = True,
) -> Dataset:
    """Turn sentence pairs into what a model reads.

    Every row is padded or cut to one length, so all batches have one shape and no collator is needed.

    Args:
        dataset: Columns sentence1, sentence2 and label.
        tokenizer: The tokenizer of the model.
        max_length: Tokens in a row; the most that a row may have where rows are not padded.
        is_padded: Whether all rows get one length. Lists of numbers of unequal lengths need a collator.

    Returns:
        A Dataset in memory of torch tensors: the tokenizer's columns, [rows, max_length], and `labels`, [rows]; of
        lists and numbers where rows are not padded.
    """
    datasets = import_train_extra("datasets")
    encoded = tokenizer(
        list(dataset["sentence1"]),
        list(dataset["sentence2"]),
        padding="max_length" if is_padded else False,
        truncation=True,
        max_length=max_length,
    )
    # Not Dataset.map: it shows a progress bar on stderr.
    columns: dict[str, Any] = {**encoded, "labels": list(dataset["label"])}
    tokenized: Dataset = datasets.Dataset.from_dict(columns)
    return tokenized.with_format("torch") if is_padded else tokenized


def _pieces() -> dict[str, int]:
    """Number the special tokens, punctuation, letters within a word, and all words of the lexicon."""
    texts = [re.sub(r"\{\w+\}", " ", template) for template in TEMPLATES] + list(TIMES)
    for subject in SUBJECTS:
        texts += [*subject.agents, *subject.objects, *subject.places]
        texts += [form for verb in subject.verbs for form in verb]
    words = set(re.findall(r"[a-z]+", " ".join(texts).lower()))
    symbols = string.ascii_lowercase + string.digits
    inner = [f"##{symbol}" for symbol in symbols]
    pieces = [*SPECIAL_TOKENS, *string.punctuation, *symbols, *inner, *sorted(words - set(symbols))]
    return {piece: number for number, piece in enumerate(pieces)}
