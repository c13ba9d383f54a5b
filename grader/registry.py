"""Where each public name lives, and which module judges each check.

Both tables map a module to names. A new public name needs a line in `HOMES`; a new check needs one in `JUDGES`, too.
"""

from __future__ import annotations

from typing import Final

HOMES: Final[dict[str, tuple[str, ...]]] = {
    "grader.device": (
        "device_name",
        "lesson_autocast_dtype",
        "lesson_device",
    ),
    "grader.figures": (
        "draw_bars",
        "draw_curves",
        "draw_points",
        "draw_spans",
        "draw_timelines",
    ),
    "grader.lessons.adafactor.checks": (
        "check_adafactor_accelerate",
        "check_adafactor_elements",
        "check_adafactor_rates",
        "check_adafactor_steps",
        "check_adafactor_trainer",
        "check_factored_moment",
    ),
    "grader.lessons.adam_8bit.checks": (
        "check_block_codes",
        "check_eight_bit_accelerate",
        "check_eight_bit_state",
        "check_eight_bit_steps",
        "check_eight_bit_trainer",
        "check_lean_job",
    ),
    "grader.lessons.adamw.checks": (
        "check_adam_backward_peak",
        "check_adam_in_backward",
        "check_adam_updates",
        "check_adamw_steps",
        "check_decay_groups_accelerate",
        "check_decay_groups_trainer",
        "check_state_bytes",
        "check_state_count",
    ),
    "grader.lessons.collectives.checks": (
        "check_all_reduce_costs",
        "check_butterfly_rounds",
        "check_butterfly_sums",
        "check_hang_diagnoses",
        "check_ring_shards",
        "check_ring_sums",
        "check_ring_traffic",
    ),
    "grader.lessons.compilation.checks": (
        "check_chunked_gradients",
        "check_chunked_peak",
        "check_compiled_accelerate",
        "check_compiled_trainer",
        "check_predicted_traffic",
        "check_unbroken_loss",
    ),
    "grader.lessons.data_parallel.checks": (
        "check_data_parallel_accelerate",
        "check_data_parallel_agreement",
        "check_data_parallel_calls",
        "check_data_parallel_traffic",
        "check_data_parallel_trainer",
        "check_data_parallel_updates",
        "check_synchronised_gradients",
        "check_synchronised_overlap",
    ),
    "grader.lessons.gradient_accumulation.checks": (
        "check_accumulated_gradients",
        "check_accumulation_accelerate",
        "check_accumulation_trainer",
        "check_largest_micro_batch",
        "check_predicted_peak",
        "check_repaired_trainer",
        "check_stream_updates",
        "check_token_gradients",
        "check_token_peak",
    ),
    "grader.lessons.gradient_checkpointing.checks": (
        "check_budget_gradients",
        "check_budget_peak",
        "check_checkpoint_gradients",
        "check_checkpoint_peak",
        "check_checkpointing_accelerate",
        "check_checkpointing_trainer",
        "check_found_faults",
        "check_segment_peak",
    ),
    "grader.lessons.learning_rate_schedules.checks": (
        "check_learning_rates",
        "check_noise_scale",
        "check_schedule_accelerate",
        "check_schedule_trainer",
        "check_scheduled_updates",
        "check_wsd_histories",
    ),
    "grader.lessons.local_sgd.checks": (
        "check_averaged_bytes",
        "check_averaged_parameters",
        "check_local_sgd_accelerate",
        "check_local_sgd_method",
        "check_local_sgd_synchronisations",
        "check_local_sgd_traffic",
        "check_local_sgd_updates",
    ),
    "grader.lessons.mixed_precision.checks": (
        "check_autocast_accelerate",
        "check_autocast_trainer",
        "check_clipped_updates",
        "check_diagnosed_runs",
        "check_fp16_on_its_device",
        "check_predicted_scale",
        "check_scaled_updates",
        "check_update_peak",
        "check_whole_batch_update",
    ),
    "grader.lessons.mixed_precision.recorded_runs": ("recorded_runs",),
    "grader.lessons.number_formats.checks": (
        "check_compensated_sum",
        "check_decoded_patterns",
        "check_format_limits",
        "check_moment_fate",
        "check_rounded_values",
        "check_stochastic_rounding",
    ),
    "grader.lessons.three_forms.checks": (
        "check_accelerate_run",
        "check_breaking_defaults",
        "check_raw_updates",
        "check_relative_distance",
        "check_repaired_loop",
        "check_trainer_run",
    ),
    "grader.lessons.where_memory_goes.checks": (
        "check_extrapolated_peak",
        "check_freed_bytes",
        "check_layer_activations",
        "check_out_of_memory",
        "check_own_meter",
        "check_step_peak",
    ),
    "grader.meters.device_facts": ("device_facts",),
    "grader.meters.forecast": ("forecast_peak_memory",),
    "grader.meters.form_table": ("compare_forms",),
    "grader.meters.measurement": ("measure_peak_memory",),
    "grader.meters.optimizer_run": ("measure_optimizer_run",),
    "grader.meters.optimizer_state": (
        "optimizer_state_bytes",
        "optimizer_state_elements",
    ),
    "grader.meters.saved_tensors": ("measure_saved_tensors",),
    "grader.meters.step_time": ("measure_step_time",),
    "grader.meters.weight_distance": ("measure_weight_distance",),
    "grader.observing.look": ("look",),
    "grader.observing.look_at_ranks": (
        "look_at_ranks",
        "say_counts",
    ),
    "grader.observing.scorecard": ("scorecard",),
    "grader.ranks.run": ("run_ranks",),
    "grader.ranks.traffic": ("predict_seconds",),
    "grader.testbed.batches": (
        "make_padded_batch",
        "make_token_batch",
    ),
    "grader.testbed.bert_large_recipes": (
        "BERT_LARGE_ROWS",
        "bert_large_recipe",
    ),
    "grader.testbed.block_codes": (
        "decode_blocks",
        "encode_blocks",
    ),
    "grader.testbed.blocks": (
        "make_thin_blocks",
        "make_wide_blocks",
    ),
    "grader.testbed.chain": ("make_chain",),
    "grader.testbed.hub": (
        "load_pair_classifier",
        "load_sentence_pairs",
        "load_tokenizer",
    ),
    "grader.testbed.own_optimizer": ("OwnOptimizer",),
    "grader.testbed.plain_arguments": ("plain_trainer_arguments",),
    "grader.testbed.pretrained": (
        "make_bert",
        "make_bert_large",
        "make_distilbert",
        "make_pair_classifier",
    ),
    "grader.testbed.sentence_pairs": ("make_sentence_pairs",),
    "grader.testbed.tokenizer": (
        "make_tokenizer",
        "tokenize_pairs",
    ),
    "grader.testbed.transformer": ("make_transformer",),
    "grader.testbed.word_sorter": (
        "make_word_batches",
        "make_word_sorter",
    ),
    "grader.units": (
        "GIB",
        "KIB",
        "MIB",
        "format_bytes",
        "format_seconds",
    ),
    "grader.verdict": ("CheckFailed",),
}

# A check named `check_<property>` is judged by the function `judge_<property>` of its module here.
JUDGES: Final[dict[str, tuple[str, ...]]] = {
    "grader.judging.lessons.adafactor.elements": ("check_adafactor_elements",),
    "grader.judging.lessons.adafactor.forms": (
        "check_adafactor_accelerate",
        "check_adafactor_trainer",
    ),
    "grader.judging.lessons.adafactor.moments": ("check_factored_moment",),
    "grader.judging.lessons.adafactor.rates": ("check_adafactor_rates",),
    "grader.judging.lessons.adafactor.steps": ("check_adafactor_steps",),
    "grader.judging.lessons.adam_8bit.blocks": ("check_block_codes",),
    "grader.judging.lessons.adam_8bit.forms": (
        "check_eight_bit_accelerate",
        "check_eight_bit_trainer",
    ),
    "grader.judging.lessons.adam_8bit.job": ("check_lean_job",),
    "grader.judging.lessons.adam_8bit.state_size": ("check_eight_bit_state",),
    "grader.judging.lessons.adam_8bit.steps": ("check_eight_bit_steps",),
    "grader.judging.lessons.adamw.steps": (
        "check_adam_updates",
        "check_adamw_steps",
    ),
    "grader.judging.lessons.adamw.backward": ("check_adam_in_backward",),
    "grader.judging.lessons.adamw.backward_peak": ("check_adam_backward_peak",),
    "grader.judging.lessons.adamw.counted": ("check_state_count",),
    "grader.judging.lessons.adamw.forms": (
        "check_decay_groups_accelerate",
        "check_decay_groups_trainer",
    ),
    "grader.judging.lessons.adamw.state_size": ("check_state_bytes",),
    "grader.judging.lessons.collectives.butterfly": (
        "check_butterfly_rounds",
        "check_butterfly_sums",
    ),
    "grader.judging.lessons.collectives.costs": ("check_all_reduce_costs",),
    "grader.judging.lessons.collectives.hangs": ("check_hang_diagnoses",),
    "grader.judging.lessons.collectives.ring": (
        "check_ring_shards",
        "check_ring_sums",
        "check_ring_traffic",
    ),
    "grader.judging.lessons.compilation.breaks": ("check_unbroken_loss",),
    "grader.judging.lessons.compilation.chunks": ("check_chunked_gradients", "check_chunked_peak"),
    "grader.judging.lessons.compilation.forms": ("check_compiled_accelerate", "check_compiled_trainer"),
    "grader.judging.lessons.compilation.traffic": ("check_predicted_traffic",),
    "grader.judging.lessons.data_parallel.accumulation": ("check_data_parallel_updates",),
    "grader.judging.lessons.data_parallel.agreement": ("check_data_parallel_agreement",),
    "grader.judging.lessons.data_parallel.calls": ("check_data_parallel_calls",),
    "grader.judging.lessons.data_parallel.epoch_traffic": ("check_data_parallel_traffic",),
    "grader.judging.lessons.data_parallel.forms": (
        "check_data_parallel_accelerate",
        "check_data_parallel_trainer",
    ),
    "grader.judging.lessons.data_parallel.hooks": ("check_synchronised_gradients", "check_synchronised_overlap"),
    "grader.judging.lessons.gradient_accumulation.forms": (
        "check_accumulation_accelerate",
        "check_accumulation_trainer",
        "check_repaired_trainer",
    ),
    "grader.judging.lessons.gradient_accumulation.loops": (
        "check_accumulated_gradients",
        "check_stream_updates",
    ),
    "grader.judging.lessons.gradient_accumulation.micro_batch_size": ("check_largest_micro_batch",),
    "grader.judging.lessons.gradient_accumulation.peak": ("check_predicted_peak",),
    "grader.judging.lessons.gradient_accumulation.token_peak": ("check_token_peak",),
    "grader.judging.lessons.gradient_accumulation.tokens": ("check_token_gradients",),
    "grader.judging.lessons.gradient_checkpointing.budget": (
        "check_budget_gradients",
        "check_budget_peak",
    ),
    "grader.judging.lessons.gradient_checkpointing.faults": ("check_found_faults",),
    "grader.judging.lessons.gradient_checkpointing.forms": (
        "check_checkpointing_accelerate",
        "check_checkpointing_trainer",
    ),
    "grader.judging.lessons.gradient_checkpointing.function_peak": ("check_checkpoint_peak",),
    "grader.judging.lessons.gradient_checkpointing.functions": ("check_checkpoint_gradients",),
    "grader.judging.lessons.gradient_checkpointing.segments": ("check_segment_peak",),
    "grader.judging.lessons.learning_rate_schedules.epochs": (
        "check_schedule_accelerate",
        "check_schedule_trainer",
    ),
    "grader.judging.lessons.learning_rate_schedules.noise": ("check_noise_scale",),
    "grader.judging.lessons.learning_rate_schedules.plans": ("check_wsd_histories",),
    "grader.judging.lessons.learning_rate_schedules.rates": ("check_learning_rates",),
    "grader.judging.lessons.learning_rate_schedules.scheduled": ("check_scheduled_updates",),
    "grader.judging.lessons.local_sgd.averaging": (
        "check_averaged_bytes",
        "check_averaged_parameters",
    ),
    "grader.judging.lessons.local_sgd.epochs": ("check_local_sgd_updates",),
    "grader.judging.lessons.local_sgd.forms": ("check_local_sgd_accelerate",),
    "grader.judging.lessons.local_sgd.methods": ("check_local_sgd_method",),
    "grader.judging.lessons.local_sgd.synchronisations": ("check_local_sgd_synchronisations",),
    "grader.judging.lessons.local_sgd.traffic": ("check_local_sgd_traffic",),
    "grader.judging.lessons.mixed_precision.budget": (
        "check_update_peak",
        "check_whole_batch_update",
    ),
    "grader.judging.lessons.mixed_precision.diagnoses": ("check_diagnosed_runs",),
    "grader.judging.lessons.mixed_precision.forms": (
        "check_autocast_accelerate",
        "check_autocast_trainer",
    ),
    "grader.judging.lessons.mixed_precision.fp16_runs": ("check_fp16_on_its_device",),
    "grader.judging.lessons.mixed_precision.groups": ("check_clipped_updates",),
    "grader.judging.lessons.mixed_precision.scale": ("check_predicted_scale",),
    "grader.judging.lessons.mixed_precision.scaled_updates": ("check_scaled_updates",),
    "grader.judging.lessons.number_formats.compensation": ("check_compensated_sum",),
    "grader.judging.lessons.number_formats.decoding": ("check_decoded_patterns",),
    "grader.judging.lessons.number_formats.limits": ("check_format_limits",),
    "grader.judging.lessons.number_formats.moments": ("check_moment_fate", "check_stochastic_rounding"),
    "grader.judging.lessons.number_formats.rounding": ("check_rounded_values",),
    "grader.judging.lessons.three_forms.defaults": ("check_breaking_defaults",),
    "grader.judging.lessons.three_forms.distance": ("check_relative_distance",),
    "grader.judging.lessons.three_forms.forms": (
        "check_accelerate_run",
        "check_trainer_run",
    ),
    "grader.judging.lessons.three_forms.loop": (
        "check_raw_updates",
        "check_repaired_loop",
    ),
    "grader.judging.lessons.where_memory_goes.extrapolation": ("check_extrapolated_peak",),
    "grader.judging.lessons.where_memory_goes.layer": ("check_layer_activations",),
    "grader.judging.lessons.where_memory_goes.left_alive": ("check_freed_bytes",),
    "grader.judging.lessons.where_memory_goes.out_of_memory": ("check_out_of_memory",),
    "grader.judging.lessons.where_memory_goes.own_meter": ("check_own_meter",),
    "grader.judging.lessons.where_memory_goes.step_peak": ("check_step_peak",),
}

HOME_OF: Final = {name: home for home, names in HOMES.items() for name in names}
_JUDGE_MODULE_OF: Final = {check: module for module, checks in JUDGES.items() for check in checks}


def is_check(name: str) -> bool:
    """Return whether a public name is a check of the course."""
    return name in _JUDGE_MODULE_OF


def judge_of(check: str) -> tuple[str, str]:
    """Return the module and the function that judge a check.

    Raises:
        KeyError: if the course has no such check.
    """
    return _JUDGE_MODULE_OF[check], f"judge_{check.removeprefix('check_')}"
