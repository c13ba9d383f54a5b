"""Lean Training: measure, check and grade efficient training.

The names below are imported on first use, so `import grader` needs neither torch nor nbgrader.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

_HOMES = {
    "grader.checks.adafactor": (
        "check_adafactor_accelerate_form",
        "check_adafactor_elements",
        "check_adafactor_rates",
        "check_adafactor_steps",
        "check_adafactor_trainer_form",
        "check_factored_moment",
    ),
    "grader.checks.adam_8bit": (
        "check_block_codes",
        "check_eight_bit_accelerate",
        "check_eight_bit_state",
        "check_eight_bit_steps",
        "check_eight_bit_trainer",
        "check_lean_job",
    ),
    "grader.checks.adamw": (
        "check_adam_backward_peak",
        "check_adam_in_backward",
        "check_adam_updates",
        "check_adamw_accelerate_form",
        "check_adamw_steps",
        "check_adamw_trainer_form",
        "check_state_bytes",
        "check_state_count",
    ),
    "grader.checks.collectives": (
        "check_all_reduce_costs",
        "check_butterfly_rounds",
        "check_butterfly_sums",
        "check_ring_average",
        "check_ring_shards",
        "check_ring_sums",
        "check_ring_traffic",
    ),
    "grader.checks.data_parallel": (
        "check_data_parallel_accelerate",
        "check_data_parallel_agreement",
        "check_data_parallel_calls",
        "check_data_parallel_traffic",
        "check_data_parallel_trainer",
        "check_data_parallel_updates",
        "check_synchronised_bytes",
        "check_synchronised_gradients",
    ),
    "grader.checks.gradient_accumulation": (
        "check_accelerate_form",
        "check_accumulated_gradients",
        "check_largest_micro_batch",
        "check_predicted_peak",
        "check_stream_updates",
        "check_token_gradients",
        "check_token_peak",
        "check_trainer_form",
    ),
    "grader.checks.gradient_checkpointing": (
        "check_budget_gradients",
        "check_budget_peak",
        "check_checkpoint_gradients",
        "check_checkpoint_peak",
        "check_checkpointed_accelerate",
        "check_checkpointed_trainer",
        "check_found_faults",
        "check_segment_peak",
    ),
    "grader.checks.local_sgd": (
        "check_averaged_bytes",
        "check_averaged_parameters",
        "check_local_sgd_accelerate",
        "check_local_sgd_method",
        "check_local_sgd_synchronisations",
        "check_local_sgd_traffic",
        "check_local_sgd_updates",
    ),
    "grader.checks.look": ("look",),
    "grader.checks.look_at_ranks": ("look_at_ranks", "say_counts"),
    "grader.checks.mixed_precision": (
        "check_accelerate_bf16",
        "check_clipped_updates",
        "check_fp16_on_its_device",
        "check_predicted_scale",
        "check_scaled_updates",
        "check_trainer_bf16",
        "check_update_peak",
        "check_whole_batch_update",
    ),
    "grader.checks.number_formats": (
        "check_chosen_format",
        "check_compensated_sum",
        "check_decoded_patterns",
        "check_format_limits",
        "check_lost_values",
        "check_rounded_values",
    ),
    "grader.checks.scorecard": ("scorecard",),
    "grader.checks.three_forms": (
        "check_accelerate_run",
        "check_breaking_defaults",
        "check_raw_updates",
        "check_relative_distance",
        "check_repaired_loop",
        "check_trainer_run",
    ),
    "grader.checks.where_memory_goes": (
        "check_extrapolated_peak",
        "check_freed_bytes",
        "check_occupied_memory",
        "check_own_meter",
        "check_step_peak",
    ),
    "grader.device": ("device_name", "lesson_autocast_dtype", "lesson_device"),
    "grader.figures": ("draw_bars", "draw_curves", "draw_points", "draw_spans", "draw_timelines"),
    "grader.meters.device_facts": ("device_facts",),
    "grader.meters.forecast": ("forecast_peak_memory",),
    "grader.meters.measurement": ("measure_peak_memory",),
    "grader.meters.optimizer_state": ("optimizer_state_bytes", "optimizer_state_elements"),
    "grader.meters.saved_tensors": ("measure_saved_tensors",),
    "grader.meters.step_time": ("measure_step_time",),
    "grader.meters.weight_distance": ("measure_weight_distance",),
    "grader.ranks.run": ("run_ranks",),
    "grader.ranks.traffic": ("predict_seconds",),
    "grader.testbed.batches": ("make_padded_batch", "make_token_batch"),
    "grader.testbed.bert_large_recipes": ("BERT_LARGE_ROWS", "bert_large_recipe"),
    "grader.testbed.block_codes": ("decode_blocks", "encode_blocks"),
    "grader.testbed.blocks": ("make_thin_blocks", "make_wide_blocks"),
    "grader.testbed.chain": ("make_chain",),
    "grader.testbed.hub": ("load_pair_classifier", "load_sentence_pairs", "load_tokenizer"),
    "grader.testbed.own_optimizer": ("OwnOptimizer",),
    "grader.testbed.pretrained": ("make_bert", "make_bert_large", "make_distilbert", "make_pair_classifier"),
    "grader.testbed.sentence_pairs": ("make_sentence_pairs",),
    "grader.testbed.tokenizer": ("make_tokenizer", "tokenize_pairs"),
    "grader.testbed.transformer": ("make_transformer",),
    "grader.testbed.word_sorter": ("make_word_batches", "make_word_sorter"),
    "grader.units": ("GIB", "KIB", "MIB", "format_bytes", "format_seconds"),
    "grader.verdict": ("CheckFailed",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'grader' has no attribute {name!r}; dir(grader) lists what it has")
    _watch_cells_once()
    try:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "grader":
            raise
        command = "pip install 'lean-training[train]'"
        raise ImportError(f"grader.{name} needs the package {error.name!r}: install it with {command}") from error


@functools.cache
def _watch_cells_once() -> None:
    if "ipykernel" in sys.modules:
        importlib.import_module("grader.waiting").watch_cells()


def __dir__() -> list[str]:
    return __all__
