import torch

from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.subjects import SUBJECTS
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer, tokenize_pairs


def test_sentences_come_back_in_lower_case():
    tokenizer = make_tokenizer()
    for sentence in make_sentence_pairs("validation")["sentence1"]:
        assert tokenizer.decode(tokenizer(sentence)["input_ids"], skip_special_tokens=True) == sentence.lower()


def test_every_word_of_the_sentences_is_one_piece():
    tokenizer = make_tokenizer()
    pieces = {piece for s in make_sentence_pairs("train")["sentence2"] for piece in tokenizer.tokenize(s)}
    assert not any(piece.startswith("##") or piece == "[UNK]" for piece in pieces)
    assert {verb.past for subject in SUBJECTS for verb in subject.verbs} <= pieces


def test_an_unknown_word_is_spelled():
    tokenizer = make_tokenizer()
    assert tokenizer.tokenize("zebu") == ["z", "##e", "##b", "##u"]
    assert tokenizer.tokenize("雪") == ["[UNK]"]


def test_a_pair_is_framed_and_typed():
    encoded = make_tokenizer()("The chef.", "The boat.")
    tokens = make_tokenizer().convert_ids_to_tokens(encoded["input_ids"])
    assert tokens == ["[CLS]", "the", "chef", ".", "[SEP]", "the", "boat", ".", "[SEP]"]
    assert encoded["token_type_ids"] == 5 * [0] + 4 * [1]
    assert encoded["attention_mask"] == 9 * [1]


def test_special_tokens_are_known():
    tokenizer = make_tokenizer()
    special = [tokenizer.pad_token, tokenizer.unk_token, tokenizer.cls_token, tokenizer.sep_token, tokenizer.mask_token]
    assert special == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.pad_token_id == 0


def test_tokenizer_survives_saving(tmp_path):
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    again = type(tokenizer).from_pretrained(tmp_path)
    assert again("The chef.", "A boat?").data == tokenizer("The chef.", "A boat?").data


def test_tokenized_pairs_have_one_shape():
    pairs = make_sentence_pairs("validation", pairs=6)
    columns = tokenize_pairs(pairs, make_tokenizer())[:]
    assert set(columns) == {"input_ids", "token_type_ids", "attention_mask", "labels"}
    assert columns["input_ids"].shape == (6, LONGEST_PAIR_TOKENS) and columns["input_ids"].dtype == torch.int64
    assert columns["labels"].tolist() == pairs["label"][:]


def test_a_long_pair_is_cut_to_the_length_asked_for():
    columns = tokenize_pairs(make_sentence_pairs("validation", pairs=6), make_tokenizer(), 12)[:]
    assert columns["input_ids"].shape == (6, 12)
    assert columns["attention_mask"].all()


def test_no_built_in_pair_is_cut_by_default():
    tokenizer = make_tokenizer()
    for split in ("train", "validation"):
        pairs = make_sentence_pairs(split)
        encoded = tokenizer(list(pairs["sentence1"]), list(pairs["sentence2"]), truncation=False)
        assert max(map(len, encoded["input_ids"])) <= LONGEST_PAIR_TOKENS
