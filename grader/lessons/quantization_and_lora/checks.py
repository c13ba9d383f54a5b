"""Checks of lesson 21: quantization and LoRA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.quantization_and_lora.adapters import adapter_cases, run_adapter
from grader.lessons.quantization_and_lora.codes import LibraryQuantizerRefused, codes_cases
from grader.lessons.quantization_and_lora.forms import qlora_cases, run_qlora
from grader.lessons.quantization_and_lora.plans import plan_cases
from grader.lessons.quantization_and_lora.rounding import rounding_cases, run_rounding
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

PLAN = ("bits", "trained", "update_bytes")
FORM_PARAMETERS = ("folder", "dataset", "rows", "rank", "learning_rate", "compute_dtype")


@make_check("predict_plan", ("layers", "rank", "block_size", "second_block_size"))
def check_quantization_plan(predict_plan: Callable[..., Any], seed: int) -> Observation:
    """Ask for five plans."""
    answers = []
    for case in plan_cases(seed):
        answer = predict_plan(list(case.layers), case.rank, case.block_size, case.second_block_size)
        if not isinstance(answer, dict) or set(answer) != set(PLAN):
            measured = f"{sorted(map(str, answer))}" if isinstance(answer, dict) else type(answer).__name__
            fail("other_keys", f"a dict with {', '.join(PLAN)}", measured, "Return the three numbers by these names.")
        answers.append({name: float(require_number(answer[name], name)) for name in PLAN})
    return Observation({"answers": answers})


@make_check("quantize_nf4", ("values", "block_size"))
def check_nf4_codes(quantize_nf4: Callable[..., Any], seed: int) -> Observation:
    """Quantize four tensors."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(codes_cases(seed)):
        values = case.make_values().to(lesson_device())
        kept = values.clone()
        with LibraryQuantizerRefused():  # type: ignore[no-untyped-call]
            answer = quantize_nf4(values, case.block_size)
        packed, scales = _require_pair(answer)
        settings.append({"packed": _describe(packed), "scales": _describe(scales)})
        settings[-1]["is_changed"] = not torch.equal(values, kept)
        tensors |= {f"{index}.packed": packed.detach().cpu(), f"{index}.scales": scales.detach().cpu()}
    return Observation({"settings": settings}, tensors)


@make_check("add_lora", ("layer", "rank", "alpha"))
def check_adapted_layer(add_lora: Callable[..., Any], seed: int) -> Observation:
    """Add three adapters."""
    runs = [run_adapter(add_lora, case) for case in adapter_cases(seed)]
    tensors = {f"{index}.{name}": run[1][name].cpu() for index, run in enumerate(runs) for name in run[1]}
    return Observation({"settings": [facts for facts, _ in runs]}, tensors)


@make_check("train_qlora_with_accelerate", FORM_PARAMETERS)
def check_qlora_accelerate(train_qlora_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train two models with Accelerate."""
    return _observe_form(train_qlora_with_accelerate, seed)


@make_check("train_qlora_with_trainer", FORM_PARAMETERS)
def check_qlora_trainer(train_qlora_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train two models with the Trainer."""
    return _observe_form(train_qlora_with_trainer, seed)


@make_check("fake_quantize", ("values", "scale", "bits"))
def check_fake_quantization(fake_quantize: Callable[..., Any], seed: int) -> Observation:
    """Round three tensors and send a gradient back."""
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(rounding_cases(seed)):
        rounded, gradient = run_rounding(fake_quantize, case)
        if not isinstance(rounded, Tensor) or rounded.shape != case.shape:
            measured = f"shape {list(rounded.shape)}" if isinstance(rounded, Tensor) else type(rounded).__name__
            fail("another_shape", f"a tensor of shape {list(case.shape)}", measured, "Return a value for each value.")
        if rounded.dtype != case.dtype:
            look_at = "You return another format than that of `values`. Look for a cast."
            fail("another_format", f"a tensor in {case.dtype}", f"one in {rounded.dtype}", look_at)
        tensors |= {f"{index}.values": rounded.detach(), f"{index}.gradients": gradient}
    return Observation({}, tensors)


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    settings, calls = [], []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(qlora_cases(seed)):
        facts, called, factors = run_qlora(train, case)
        settings.append(facts)
        calls.append(called)
        tensors |= {f"{index}.{name}": value for name, value in factors.items()}
    return Observation({"settings": settings, "calls": calls}, tensors)


def _require_pair(answer: Any) -> tuple[Tensor, Tensor]:
    expected = "two tensors: packed codes, scales"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        fail("no_pair", expected, type(answer).__name__, "You return something else than a pair: codes, then scales.")
    for part in answer:
        if not isinstance(part, Tensor):
            fail("no_tensor", expected, type(part).__name__, "You return a part that is not a tensor.")
    return answer[0], answer[1]


def _describe(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
