"""Judges QLoRA with Accelerate and with the Trainer: how the model was loaded, adapted and trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.quantization_and_lora.forms import TARGETS, QloraCase, factors_of, qlora_cases, row_numbers
from grader.observation import Observation
from grader.testbed.extras import import_train_extra
from grader.verdict import PASSED, Verdict

Factors = Mapping[str, Tensor]

# How far factors end from the reference's, as a share of its movement: up to 6 % where weights are loaded in float32 in
# place of the format in which they were saved, and 5 % in bfloat16 for another order of the same sums.
TOLERANCE = {torch.float32: 0.12, torch.bfloat16: 0.2}
STATE_SLACK = 1.1


@dataclass(frozen=True)
class Evidence:
    """One run.

    Attributes:
        case: What was asked for.
        facts: What was recorded of it.
        calls: What it called of the libraries.
    """

    case: QloraCase
    facts: Mapping[str, Any]
    calls: Mapping[str, Sequence[Any]]

    @property
    def model(self) -> Mapping[str, Any]:
        """What the model was like at its first forward."""
        found: Mapping[str, Any] = self.facts["model"]
        return found

    @property
    def forwards(self) -> int:
        """Forwards of the decoder."""
        return len(self.facts["forward_rows"])

    @property
    def in_trainer(self) -> int:
        """Those within Trainer.train."""
        return int(sum(self.calls["forwards_in_trainer"]))

    @property
    def is_rerun(self) -> bool:
        """Whether the decoder's layers ran more often than the decoder."""
        return bool(self.facts["layer_calls"] > self.forwards * self.case.layers)

    @property
    def rows(self) -> list[int]:
        """Rows of each forward of a right run."""
        return [self.case.rows] * (self.case.updates - 1) + [self.case.rows - 1]

    @property
    def expected_rows(self) -> list[int]:
        """A number for each row of the data, in order."""
        return row_numbers(self.case.make_dataset()["input_ids"][:])

    @property
    def state_bytes(self) -> int:
        """Bytes of AdamW's state for the factors, and of a step count for each."""
        return 8 * self.case.trained + 4 * 2 * len(TARGETS) * self.case.layers

    @property
    def compute(self) -> str:
        """Name of the format that is asked for."""
        return str(self.case.compute).removeprefix("torch.")


def judge_qlora_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate."""
    return _judge(observation, seed, ACCELERATE)


def judge_qlora_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run with the Trainer."""
    return _judge(observation, seed, TRAINER)


def _judge(observation: Observation, seed: int, usage: Table[Evidence]) -> Verdict:
    cases, furthest, evidence = qlora_cases(seed), 0.0, None
    for index, case in enumerate(cases):
        evidence = Evidence(case, observation.facts["settings"][index], observation.facts["calls"][index])
        for table, expected in (
            (usage, "every forward in the form that is asked for, and what `prepare` returns in use"),
            (LOADING, f"linear layers in NF4 with double quantization, computing in {evidence.compute}"),
            (
                ADAPTERS,
                f"adapters of rank {case.rank} on q_proj and v_proj, alpha {2 * case.rank}, and a prepared base",
            ),
            (RUN, f"{case.updates} updates by AdamW at {case.learning_rate:g}, rows in order, without decay"),
        ):
            verdict = table.judge(evidence, expected)
            if verdict:
                return verdict
        start, end = (_factors(observation, f"{index}.{moment}.") for moment in ("start", "end"))
        verdict, distance = _judge_factors(case, start, end)
        if verdict:
            return verdict
        furthest = max(furthest, distance)
    assert evidence is not None
    state = f"{evidence.facts['state_bytes']:,} bytes of state for {evidence.case.trained:,} trained numbers"
    return Verdict(PASSED, "", f"factors at most {furthest:.1e} of their movement from the raw loop's; {state}")


def _factors(observation: Observation, prefix: str) -> dict[str, Tensor]:
    tensors = observation.tensors
    return {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}


def _judge_factors(case: QloraCase, start: Factors, end: Factors) -> tuple[Verdict | None, float]:
    wanted = train_reference(case, start)
    if end.keys() != wanted.keys():
        look_at = "You return another model than the one that you trained. Return the adapted one, as it is."
        return Verdict("another_model_returned", f"{len(wanted)} factors", f"{len(end)} factors", look_at), 0.0
    movement = math.sqrt(sum(float((wanted[name] - start[name]).square().sum()) for name in wanted))
    miss = math.sqrt(sum(float((wanted[name] - end[name]).square().sum()) for name in wanted))
    distance = miss / movement
    if distance <= TOLERANCE[case.compute]:
        return None, distance
    is_still = all(torch.equal(end[name], start[name]) for name in wanted)
    expected = f"factors within {TOLERANCE[case.compute]:.0%} of the raw loop's movement"
    if is_still:
        look_at = "Your factors never move. Look for an optimizer made before get_peft_model, or zero_grad before step."
        return Verdict("factors_never_move", expected, "factors as they were at the start", look_at), distance
    look_at = (
        "Your layers, rows and optimizer are right, the factors are not. Look for gradients that are not cleared, "
    )
    look_at += "another loss (labels, smoothing, noise), and a `dtype` in from_pretrained."
    return Verdict("other_factors", expected, f"{distance:.1%} away", look_at), distance


def train_reference(case: QloraCase, start: Factors) -> dict[str, Tensor]:
    """Train the model of a case in a raw loop, from the factors at its start; return those at its end."""
    transformers, peft = import_train_extra("transformers"), import_train_extra("peft")
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=case.compute,
    )
    adapter = peft.LoraConfig(
        r=case.rank, lora_alpha=2 * case.rank, target_modules=list(TARGETS), task_type="CAUSAL_LM"
    )
    with case.folder() as folder, torch.enable_grad():
        base = transformers.AutoModelForCausalLM.from_pretrained(folder, quantization_config=config)
        checkpointing = {"use_reentrant": False}
        base = peft.prepare_model_for_kbit_training(base, gradient_checkpointing_kwargs=checkpointing)
        model = peft.get_peft_model(base, adapter).train()
        _set_factors(model, start)
        optimizer = torch.optim.AdamW(
            [value for value in model.parameters() if value.requires_grad], lr=case.learning_rate, weight_decay=0.0
        )
        for batch in DataLoader(case.make_dataset(), batch_size=case.rows):
            model(**{name: values.to(model.device) for name, values in batch.items()}).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return factors_of(model)


@torch.no_grad()
def _set_factors(model: Any, start: Factors) -> None:
    for name, module in model.named_modules():
        for factor in ("lora_A", "lora_B"):
            if hasattr(module, factor) and len(getattr(module, factor)):
                parts = name.split(".")
                place = f"{parts[parts.index('layers') + 1]}.{parts[-1]}.{factor}"
                getattr(module, factor)["default"].weight.copy_(start[place])


ACCELERATE = Table[Evidence](
    Misconception(
        "trainer_in_its_place",
        "You train with the Trainer. This form is a loop of your own, with an Accelerator.",
        shown_by=lambda run: run.in_trainer > 0,
        measured="{forwards} forwards, {in_trainer} of them in Trainer.train",
    ),
    Misconception(
        "model_not_run",
        "You call no language model while your function runs. Train the one that you load from `folder`.",
        shown_by=lambda run: run.forwards == 0,
        measured="no forward",
    ),
    Misconception(
        "accelerator_not_used",
        "You train without Accelerate. Prepare model, optimizer and loader.",
        shown_by=lambda run: not run.calls["prepared"] and not run.calls["backward"],
        measured="nothing prepared",
    ),
    Misconception(
        "optimizer_not_prepared",
        "You do not prepare the optimizer, or step the one from before. Use what accelerator.prepare returns.",
        shown_by=lambda run: "optimizer" not in run.calls["used"] and run.facts["steps"] > 0,
        measured="steps of an optimizer that is not prepared",
    ),
    Misconception(
        "loader_not_prepared",
        "You do not prepare the loader, or read the one from before. Use what accelerator.prepare returns.",
        shown_by=lambda run: "loader" not in run.calls["used"],
        measured="batches of a loader that is not prepared",
    ),
    Misconception(
        "model_not_prepared",
        "You do not prepare the model. Hand it to accelerator.prepare.",
        shown_by=lambda run: "model" not in run.calls["prepared"],
        measured="no model prepared",
    ),
)
TRAINER = Table[Evidence](
    Misconception(
        "trainer_not_used",
        "You train without the Trainer. Hand it the adapted model, and call its .train().",
        shown_by=lambda run: not run.in_trainer,
        measured="no forward in Trainer.train",
    ),
    Misconception(
        "trained_in_a_loop_too",
        "You run the model outside of the Trainer as well. The Trainer writes the whole loop.",
        shown_by=lambda run: run.in_trainer < run.forwards,
        measured="{forwards} forwards, {in_trainer} of them in Trainer.train",
    ),
)
LOADING = Table[Evidence](
    Misconception(
        "not_quantized",
        "You load no layer in 4 bits. Hand from_pretrained a BitsAndBytesConfig with load_in_4bit=True.",
        shown_by=lambda run: run.model["quantized"] == 0,
        measured="{model[linear]} linear layers, none in 4 bits",
    ),
    Misconception(
        "other_layers_quantized",
        "You quantize the head, or not all layers of the decoder. Leave llm_int8_skip_modules out.",
        shown_by=lambda run: run.model["quantized"] < run.model["linear"] or run.facts["head"] == "Linear4bit",
        measured="{model[quantized]} of {model[linear]} decoder layers in 4 bits, a head of type {facts[head]}",
    ),
    Misconception(
        "quantized_to_fp4",
        "You quantize to FP4, the default of bitsandbytes. Set bnb_4bit_quant_type.",
        shown_by=lambda run: list(run.model["kinds"]) != ["nf4"],
        measured="codes of {model[kinds]}",
    ),
    Misconception(
        "no_double_quantization",
        "You keep a float32 scale for each block. Set bnb_4bit_use_double_quant.",
        shown_by=lambda run: not run.model["are_doubled"],
        measured="scales that are not quantized",
    ),
    Misconception(
        "other_compute_dtype",
        "Your 4-bit layers multiply in another format: the default is float32, whatever the weights were. Hand "
        "`compute_dtype` to the config.",
        shown_by=lambda run: list(run.model["compute"]) != [run.compute],
        measured="layers that compute in {model[compute]}",
    ),
)
ADAPTERS = Table[Evidence](
    Misconception(
        "no_adapter",
        "You never call get_peft_model, or drop what it returns. Preparing freezes the base, so nothing is trained.",
        shown_by=lambda run: not run.model["adapted"],
        measured="no adapter, {model[trained]} trained numbers in the decoder",
    ),
    Misconception(
        "other_targets",
        "You adapt other layers. Name q_proj and v_proj in target_modules, and adapt each layer of the decoder.",
        shown_by=lambda run: (
            list(run.model["adapted"]) != sorted(TARGETS) or run.model["adapters"] != len(TARGETS) * run.case.layers
        ),
        measured="{model[adapters]} adapters, on {model[adapted]}, in a decoder of {case.layers} layers",
    ),
    Misconception(
        "other_rank",
        "You leave the rank at its default of 8, or set another. Hand `rank` to LoraConfig as r.",
        shown_by=lambda run: list(run.model["ranks"]) != [run.case.rank],
        measured="rank {model[ranks]}",
    ),
    Misconception(
        "other_scale",
        "Your adapters are scaled by another number than 2. Set lora_alpha to twice the rank (its default is 8), and "
        "leave use_rslora off.",
        shown_by=lambda run: list(run.model["scales"]) != [2.0],
        measured="scale {model[scales]}",
    ),
    Misconception(
        "dropout_added",
        "You add dropout to the adapters. Leave lora_dropout at 0.",
        shown_by=lambda run: max(run.model["dropouts"], default=0.0) > 0,
        measured="dropout {model[dropouts]}",
    ),
    Misconception(
        "base_trained",
        "You train parameters of the base. Prepare, then adapt, and leave requires_grad as get_peft_model sets it.",
        shown_by=lambda run: run.model["base_trained"] > 0,
        measured="{model[base_trained]} trained numbers in addition to the factors",
    ),
    Misconception(
        "adapters_frozen",
        "You freeze the adapters, too. Prepare before get_peft_model, and leave inference_mode off.",
        shown_by=lambda run: run.model["trained"] == 0,
        measured="no trained number",
    ),
    Misconception(
        "factors_in_16_bits",
        "You train factors in 16 bits, and so are their moments. Let get_peft_model make them, and cast nothing.",
        shown_by=lambda run: list(run.model["factors"]) != ["float32"],
        measured="factors in {model[factors]}",
    ),
    Misconception(
        "second_factor_not_zero",
        "You start B at random, so the first outputs are not the base's. Leave init_lora_weights as it is.",
        shown_by=lambda run: run.model["is_second_random"],
        measured="numbers other than 0 in lora_B at the first forward",
    ),
    Misconception(
        "model_in_eval_mode",
        "You leave the model in eval mode, as from_pretrained returns it: no layer is checkpointed. Call train().",
        shown_by=lambda run: not all(run.facts["modes"]),
        measured="a forward in eval mode",
    ),
    Misconception(
        "not_prepared",
        "You do not call prepare_model_for_kbit_training: normalisations stay in 16 bits, and no layer is "
        "checkpointed.",
        shown_by=lambda run: list(run.model["norms"]) != ["float32"],
        measured="normalisations in {model[norms]}",
    ),
    Misconception(
        "not_checkpointed",
        "You train without gradient checkpointing. Leave it on in prepare_model_for_kbit_training, which enables it.",
        shown_by=lambda run: not run.is_rerun,
        measured="{facts[layer_calls]} runs of layers in {forwards} forwards",
    ),
)
RUN = Table[Evidence](
    Misconception(
        "autocast_on",
        "You run under autocast. The compute dtype is the config's: leave bf16, fp16 and mixed_precision alone.",
        shown_by=lambda run: any(run.facts["autocast"]),
        measured="a forward under autocast",
    ),
    Misconception(
        "rows_in_another_order",
        "You train on the rows in another order. Leave shuffle off, or pass `same_run`.",
        shown_by=lambda run: (
            run.facts["rows"] != run.expected_rows and sorted(run.facts["rows"]) == sorted(run.expected_rows)
        ),
        measured="the same rows in another order",
    ),
    Misconception(
        "epoch_repeated",
        "You train for several epochs; the Trainer's default is 3. One is asked for.",
        shown_by=lambda run: (
            len(run.facts["rows"]) > len(run.expected_rows)
            and sorted(set(run.facts["rows"])) == sorted(set(run.expected_rows))
        ),
        measured="batches of {facts[forward_rows]} rows",
    ),
    Misconception(
        "other_batches",
        "You train on other batches than the epoch's: `rows` rows each, and the short last one. Look for drop_last, a "
        "break, max_steps, accumulation and the Trainer's default of 8 rows.",
        shown_by=lambda run: list(run.facts["forward_rows"]) != run.rows,
        measured="batches of {facts[forward_rows]} rows",
    ),
    Misconception(
        "other_number_of_updates",
        "You take {facts[steps]} optimizer steps for {case.updates} batches. Step after each: accumulate nothing.",
        shown_by=lambda run: run.facts["steps"] != run.case.updates,
        measured="{facts[steps]} steps",
    ),
    Misconception(
        "another_optimizer",
        "You train with another optimizer than torch.optim.AdamW. For the Trainer, `same_run` sets `optim` to SGD.",
        shown_by=lambda run: list(run.facts["optimizers"]) != ["torch.AdamW"],
        measured="steps of {facts[optimizers]}",
    ),
    Misconception(
        "rate_changed",
        "Your learning rate changes on the way, or differs between parameters. It is one constant here.",
        shown_by=lambda run: len(run.facts["rates"]) > 1,
        measured="learning rates {facts[rates]}",
    ),
    Misconception(
        "other_learning_rate",
        "You train at another learning rate. Hand `learning_rate` to the optimizer or to the arguments.",
        shown_by=lambda run: not math.isclose(run.facts["rates"][0], run.case.learning_rate, rel_tol=1e-6),
        measured="learning rate {facts[rates]}",
    ),
    Misconception(
        "weight_decay_on",
        "You decay the factors: torch's AdamW decays by 0.01 if nobody sets weight_decay.",
        shown_by=lambda run: max(run.facts["decays"]) > 0,
        measured="weight decay {facts[decays]}",
    ),
    Misconception(
        "adamw_options_changed",
        "You change betas, eps or amsgrad of AdamW. Leave them at torch's defaults.",
        shown_by=lambda run: list(run.facts["options"]) != ["betas (0.9, 0.999), eps 1e-08, amsgrad False"],
        measured="{facts[options]}",
    ),
    Misconception(
        "state_too_large",
        "You train more than A and B, and the optimizer keeps state of it. Look for use_dora and modules_to_save.",
        shown_by=lambda run: run.facts["state_bytes"] > STATE_SLACK * run.state_bytes,
        measured="{facts[state_bytes]} bytes of state for {case.trained} numbers of factors",
    ),
)
