"""Judges 8-bit AdamW under Accelerate and the Trainer: used as taught, in the right formats, and equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from grader.judging.decay_groups import judge_options, options_of
from grader.judging.forms import Facts, name_form
from grader.judging.optimizer_forms import (
    FORMS_LOOK_AT,
    in_batches,
    judge_batches,
    judge_usage,
    make_loop_reference,
    split_by_parameters,
)
from grader.judging.step_paths import measure_miss
from grader.judging.updates import judge_gradients
from grader.judging.vectors import tensors_of
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.state import SMALLEST_QUANTIZED
from grader.observation import Observation
from grader.testbed.eight_bit_manager import fresh_optimizer_manager
from grader.testbed.extras import import_train_extra
from grader.testbed.pair_runs import DecayFormsCase
from grader.verdict import PASSED, Verdict

# On one device the same kernel takes the same steps. Two devices may round a number to another code: up to 2e-3.
TOLERANCE = 5e-3

LOOK_AT = FORMS_LOOK_AT | {
    "trainer_decay_zero": "You leave weight_decay of TrainingArguments at its default, 0.0, so both groups are alike.",
    "accelerate_decay_zero": "You decay no parameter. Look at the group with weight_decay: it is empty, or its decay "
    "is 0.0.",
    "trainer_another_optimizer": "You train with another optimizer, or with other options. Look for the name of 8-bit "
    "AdamW, and set optim of TrainingArguments to it.",
    "trainer_nothing_quantized": "You train with an optimizer that keeps no codes. Set optim of TrainingArguments to "
    "8-bit AdamW.",
}


def judge_eight_bit_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form."""
    return _judge_forms(observation, seed, "accelerate")


def judge_eight_bit_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form."""
    return _judge_forms(observation, seed, "trainer")


def _judge_forms(observation: Observation, seed: int, form: str) -> Verdict:
    cases, furthest = eight_bit_forms_cases(seed), 0.0
    misused = judge_usage(cases, observation, form, _judge_forwards)
    if misused:
        return misused
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_batches(case, facts, observation.facts["calls"][index], form)
        verdict = verdict or judge_options(case, facts["options"])
        verdict = verdict or judge_gradients(facts, tensors, make_loop_reference(case))
        verdict = verdict or _judge_formats(case, facts["formats"]) or _judge_movement(case, tensors, facts)
        if verdict:
            return in_batches(name_form(verdict, form, LOOK_AT))
        furthest = max(furthest, distance(case, tensors))
    updates = sum(case.updates for case in cases)
    measured = f"{updates} updates with 8-bit state, at most {furthest:.1e} of the movement from the raw loop"
    return Verdict(PASSED, "the weights of the raw loop", measured)


def _judge_forwards(case: DecayFormsCase, facts: Facts) -> Verdict | None:
    """Judge that there are forwards, of as many rows as an update takes."""
    rows, expected = list(facts["forward_rows"]), f"{case.updates} forwards, of {case.rows} rows each but the last"
    if not rows:
        return Verdict(
            "no_forward",
            expected,
            "no forward of accelerate_model",
            "You never call accelerate_model. Look at your loop.",
        )
    if max(rows) < case.rows:
        look_at = "You use smaller batches. Set batch_size of the loader to `rows`."
        return Verdict("rows_not_read", expected, f"{len(rows)} forwards of up to {max(rows)} rows", look_at)
    return None


def is_quantized(module: nn.Module, parameter: nn.Parameter) -> bool:
    """Return whether the moments of a parameter of a module are codes."""
    return parameter.numel() >= SMALLEST_QUANTIZED and not isinstance(module, nn.Embedding)


def _judge_formats(case: DecayFormsCase, formats: Sequence[Mapping[str, int]]) -> Verdict | None:
    model = case.make_model()
    owners = {id(parameter): module for module in model.modules() for parameter in module.parameters(recurse=False)}
    named = list(model.named_parameters())
    wanted = [is_quantized(owners[id(parameter)], parameter) for _, parameter in named]
    seen, sizes = [found.get("uint8", 0) > 0 for found in formats], [parameter.numel() for _, parameter in named]
    if seen == wanted:
        return None
    expected = "codes for matrices of 4,096 numbers and more, float32 for embeddings and small tensors"
    wrong = [name for (name, _), has, should in zip(named, seen, wanted, strict=True) if has != should]
    measured = f"the other format for {len(wrong)} of {len(named)} parameters, the first {wrong[0] if wrong else '-'}"
    if not any(seen):
        look_at = "You keep no codes at all. Look at which optimizer updates, and which modules are overridden."
        return Verdict("nothing_quantized", expected, measured, look_at)
    if not any(has and should for has, should in zip(seen, wanted, strict=True)):
        look_at = "You override modules that have to keep codes. Override the embeddings only."
        return Verdict("other_modules_overridden", expected, measured, look_at)
    tables = [isinstance(owners[id(parameter)], nn.Embedding) for _, parameter in named]
    if all(is_table for is_table, has, should in zip(tables, seen, wanted, strict=True) if has != should):
        large = [
            numbers
            for numbers, is_table in zip(sizes, tables, strict=True)
            if is_table and numbers >= SMALLEST_QUANTIZED
        ]
        if len(wrong) < len(large):
            return Verdict(
                "one_embedding_quantized",
                expected,
                measured,
                "You override some embeddings. Look at what ends your loop over the modules.",
            )
        look_at = "You quantize the embeddings. Register an override with GlobalOptimManager before the first step."
        return Verdict("embeddings_quantized", expected, measured, look_at)
    if all(should for has, should in zip(seen, wanted, strict=True) if has != should):
        return Verdict(
            "matrices_not_quantized",
            expected,
            measured,
            "You override more than embeddings. Look at the type of the modules.",
        )
    return Verdict(
        "other_tensors_quantized",
        expected,
        measured,
        "You quantize other tensors. Leave min_8bit_size at its default of 4,096 numbers.",
    )


def _judge_movement(case: DecayFormsCase, tensors: Mapping[str, Tensor], facts: Facts) -> Verdict | None:
    way = distance(case, tensors)
    if way <= TOLERANCE:
        return None
    names = sorted({str(options["optimizer"]) for options in facts["options"]})
    expected = f"the weights that 8-bit AdamW leads to, with lr {case.learning_rate:g}"
    measured = f"weights that are off by {way:.2g} of the movement, by {', '.join(names)}"
    look_at = "You move the weights with another optimizer than 8-bit AdamW, or with other options. Look at both."
    return Verdict("another_optimizer", expected, measured, look_at)


def distance(case: DecayFormsCase, tensors: Mapping[str, Tensor]) -> float:
    """Return how far the weights are from those that 8-bit AdamW leads to from the gradients that were seen."""
    bitsandbytes = import_train_extra("bitsandbytes")
    model = case.make_model()
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    groups = options_of(model, case.weight_decay)
    optimizer = bitsandbytes.optim.AdamW8bit(groups, lr=case.learning_rate)
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    full = bitsandbytes.optim.AdamW([p for p in model.parameters() if id(p) in tables], lr=case.learning_rate)
    full.param_groups[0]["weight_decay"] = case.weight_decay
    with fresh_optimizer_manager():
        for update in range(case.updates):
            parts = split_by_parameters(tensors[f"gradient.{update}"], model)
            for owner in (optimizer, full):
                for parameter, part in zip(model.parameters(), parts, strict=True):
                    parameter.grad = part if (id(parameter) in tables) == (owner is full) else None
                owner.step()
    wanted = nn.utils.parameters_to_vector(model.parameters()).detach()
    return measure_miss(tensors, case.updates, start, wanted)
