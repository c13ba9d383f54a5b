"""BERT-large at real scale, against figures found independently of this code."""

import pytest

from grader.meters import cuda_operators
from grader.meters.forecast import forecast_peak_memory
from grader.testbed.bert_large_recipes import BERT_LARGE_ROWS, CUDA_CONTEXT_MIB, bert_large_recipe

MIB = 2**20

# MiB by row, with the CPU's operators and with CUDA's.
ANCHORS_MIB = {
    "vanilla": (11_968, 10_528),
    "accumulation": (7_158, 6_798),
    "accumulation_checkpointing": (5_352, 5_352),
    "fp16": (8_880, 9_227),
    "fp16_accumulation_checkpointing": (5_761, 5_760),
    "adafactor": (9_414, 7_974),
    "adafactor_and_the_rest": (3_207, 3_206),
    "adam_8bit": (10_061, 8_621),
    "adam_8bit_and_the_rest": (3_854, 3_853),
}
LONG_ROWS = ("fp16_accumulation_checkpointing", "adafactor_and_the_rest", "adam_8bit_and_the_rest")
ROWS = [pytest.param(row, marks=[pytest.mark.slow] if row in LONG_ROWS else []) for row in ANCHORS_MIB]


@pytest.mark.turns(3)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("operators", ["cpu", "cuda"])
def test_forecast_of_bert_large_meets_its_anchor(row, operators):
    anchor_mib = ANCHORS_MIB[row][operators == "cuda"]
    forecast = forecast_peak_memory(bert_large_recipe(row), operators=operators)
    assert forecast.peak_bytes / MIB == pytest.approx(anchor_mib, rel=0.01)


def test_forecast_of_bert_large_with_fused_attention_meets_its_anchor():
    forecast = forecast_peak_memory(bert_large_recipe("vanilla", attention="sdpa"))
    assert forecast.peak_bytes / MIB == pytest.approx(7_075, rel=0.01)


def test_forecast_of_bert_large_in_fp16_by_the_cpus_autocast_rules(monkeypatch):
    """8,394 MiB is the figure with CUDA's dropout and the CPU's rules, where softmax stays in float16."""
    monkeypatch.setattr(cuda_operators, "substitute_autocast_rules", lambda library: None)
    forecast = forecast_peak_memory(bert_large_recipe("fp16"))
    assert forecast.peak_bytes / MIB == pytest.approx(8_394, rel=0.01)


def test_bert_large_in_fp16_keeps_its_attention_weights_in_float32_on_cuda(monkeypatch):
    by_cuda_rules = forecast_peak_memory(bert_large_recipe("fp16")).activation_bytes
    monkeypatch.setattr(cuda_operators, "substitute_autocast_rules", lambda library: None)
    by_cpu_rules = forecast_peak_memory(bert_large_recipe("fp16")).activation_bytes
    weights_of_a_layer = 4 * 16 * 512 * 512  # batch x heads x time x time
    assert by_cuda_rules - by_cpu_rules == pytest.approx(24 * weights_of_a_layer * 2, rel=0.1)  # two bytes more each


@pytest.mark.parametrize("row", BERT_LARGE_ROWS)
def test_published_figure_of_bert_large_is_above_the_anchor(row):
    published = BERT_LARGE_ROWS[row]
    assert published.less_context_mib == published.occupied_mib - CUDA_CONTEXT_MIB
    assert ANCHORS_MIB[row][1] < published.less_context_mib


def test_forecast_of_bert_large_counts_every_parameter():
    forecast = forecast_peak_memory(bert_large_recipe())
    assert forecast.parameter_bytes == 335_143_938 * 4
    assert forecast.optimizer_state_bytes == pytest.approx(2 * forecast.parameter_bytes, rel=1e-4)


def test_unknown_row_names_the_rows():
    with pytest.raises(KeyError, match="fp16_accumulation_checkpointing"):
        bert_large_recipe("fp17")


def test_fields_change_the_row():
    forecast = forecast_peak_memory(bert_large_recipe("accumulation_checkpointing", accumulate=1))
    assert forecast.peak_bytes / MIB == pytest.approx(5_352, rel=0.05)
    with pytest.raises(TypeError, match="batches"):
        bert_large_recipe("vanilla", batches=2)
