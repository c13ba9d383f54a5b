"""Judges 8-bit AdamW under Accelerate and the Trainer: as taught, in the right formats, and equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn

from grader.judging.decay_groups import judge_groups, make_groups
from grader.judging.forms import Facts
from grader.judging.lessons.adam_8bit.cuda_kernel import replay_on
from grader.judging.optimizer_forms import Cause, FormsJudge, first_cause
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.state import SMALLEST_QUANTIZED
from grader.observation import Observation
from grader.testbed.extras import import_train_extra
from grader.testbed.pair_runs import DecayCase
from grader.verdict import Verdict

# The replay rounds as the device does. Where a number is halfway between two codes, they may differ: by up to 2e-3.
TOLERANCE = 5e-3

LOOK_AT = {
    "trainer_nothing_quantized": "You train with an optimizer that keeps no codes. Set optim of TrainingArguments to "
    "8-bit AdamW.",
    "trainer_embeddings_quantized": "You hand the Trainer an optimizer, so it does not override the embeddings. Let it "
    "make the optimizer from optim.",
}


def judge_eight_bit_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form."""
    return FORMS.judge(eight_bit_forms_cases(seed), observation, "accelerate")


def judge_eight_bit_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form."""
    return FORMS.judge(eight_bit_forms_cases(seed), observation, "trainer")


def _make_optimizers(case: DecayCase, model: nn.Module) -> list[torch.optim.Optimizer]:
    library = import_train_extra("bitsandbytes").optim
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            library.GlobalOptimManager.get_instance().register_module_override(module, "weight", {"optim_bits": 32})
    return [library.AdamW8bit(make_groups(model, case.weight_decay), lr=case.learning_rate)]


def _judge_options(case: DecayCase, facts: Facts) -> Verdict | None:
    return judge_groups(case, facts) or judge_formats(case, facts)


def judge_formats(case: DecayCase, facts: Facts) -> Verdict | None:
    """Judge which parameters keep codes, and which keep float32."""
    model = case.make_model()
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    named = list(model.named_parameters())
    is_table = [id(parameter) in tables for _, parameter in named]
    is_large = [parameter.numel() >= SMALLEST_QUANTIZED for _, parameter in named]
    seen = [found.get("uint8", 0) > 0 for found in facts["formats"]]
    wanted = [large and not table for large, table in zip(is_large, is_table, strict=True)]
    if seen == wanted:
        return None
    expected = "codes for matrices of 4,096 numbers and more, float32 for embeddings and small tensors"
    wrong = [name for (name, _), has, should in zip(named, seen, wanted, strict=True) if has != should]
    measured = f"the other format for {len(wrong)} of {len(named)} parameters, the first {wrong[0] if wrong else '-'}"
    return first_cause(_format_causes(seen, wanted, is_table, is_large), expected, measured)


def _format_causes(
    seen: Sequence[bool], wanted: Sequence[bool], is_table: Sequence[bool], is_large: Sequence[bool]
) -> Iterable[Cause]:
    too_many = [has and not should for has, should in zip(seen, wanted, strict=True)]
    too_few = [should and not has for has, should in zip(seen, wanted, strict=True)]
    look_at = "You keep no codes at all. Look at which optimizer updates, and which modules are overridden."
    yield "nothing_quantized", not any(seen), "", look_at
    look_at = "You override modules that have to keep codes. Override the embeddings only."
    yield "other_modules_overridden", any(too_few), "", look_at
    tables = [large and table for large, table in zip(is_large, is_table, strict=True)]
    look_at = "You quantize the embeddings. Register an override with GlobalOptimManager before the first step."
    yield "embeddings_quantized", too_many == tables, "", look_at
    is_part = all(table for many, table in zip(too_many, tables, strict=True) if many)
    look_at = "You override some embeddings. Look at what ends your loop over the modules."
    yield "one_embedding_quantized", is_part, "", look_at
    look_at = "You quantize other tensors. Leave min_8bit_size at its default of 4,096 numbers."
    yield "other_tensors_quantized", True, "", look_at


def _state_causes(facts: Facts) -> Iterable[Cause]:
    return ()


FORMS = FormsJudge("8-bit AdamW", _make_optimizers, _judge_options, _state_causes, TOLERANCE, LOOK_AT, replay_on)
