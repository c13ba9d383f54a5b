"""A language model that a learner's function loads in 4 bits, adapts and trains, and what is recorded of it."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from grader.meters.optimizer_state import optimizer_state_bytes
from grader.observing.contract import fail
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord
from grader.testbed.saved_language_models import make_token_rows, save_language_model

if TYPE_CHECKING:
    from datasets import Dataset

TARGETS = ("q_proj", "v_proj")
FACTORS = ("lora_A", "lora_B")


@dataclass(frozen=True)
class QloraCase:
    """A saved model and the run that it is trained in.

    Attributes:
        layers: Decoder layers.
        width: Features of a position.
        saved: Format of the saved weights.
        rows: Rows of an update; the last one has one row less.
        updates: Updates of the epoch.
        rank: Of the adapters; alpha is twice as large.
        learning_rate: Constant.
        compute: Format in which 4-bit layers multiply.
        seed: Seed of weights and tokens.
    """

    layers: int
    width: int
    saved: torch.dtype
    rows: int
    updates: int
    rank: int
    learning_rate: float
    compute: torch.dtype
    seed: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What an exercise receives after folder and dataset."""
        return self.rows, self.rank, self.learning_rate, self.compute

    @property
    def trained(self) -> int:
        """Numbers of all factors."""
        return len(TARGETS) * self.layers * self.rank * 2 * self.width

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        """Save the model to a folder that is gone after the block."""
        with tempfile.TemporaryDirectory() as folder:
            save_language_model(folder, layers=self.layers, width=self.width, dtype=self.saved, seed=self.seed)
            yield folder

    def make_dataset(self) -> Dataset:
        """Write the rows."""
        return make_token_rows(self.rows * self.updates - 1, 12, seed=self.seed)


def qlora_cases(seed: int) -> tuple[QloraCase, ...]:
    """Weights that were saved in bfloat16 and multiply in float32, and the reverse."""
    draw = random.Random(seed)
    rank, rate, single, half = draw.choice((2, 3)), draw.choice((5e-3, 2e-2)), torch.float32, torch.bfloat16
    return (
        QloraCase(2, 64, half, 4, 3, 4, 1e-2, single, seed),
        QloraCase(draw.choice((1, 3)), 128, single, 3, draw.choice((3, 4)), rank, rate, half, seed + 1),
    )


class QloraRecord:
    """Records a run from hooks on all modules and optimizers.

    Attributes:
        training: Rows of each forward of a decoder, where the record of library calls reads them.
        rows: A number for each row that was seen, in order.
        layer_calls: Runs of decoder layers.
        modes: Whether the decoder was in train mode, for each forward.
        model: Facts of the model at its first forward.
        start: Its factors at that moment, by name.
        head: Type of the output embedding.
        optimizers: Libraries and names of optimizers that have taken a step.
        options: What the groups of these set in addition to their rates and decays.
        optimized: Numbers that need a gradient, in the groups of one.
        steps: Steps of optimizers.
        rates: Learning rates of these, in the order of their first use.
        decays: Weight decays.
        state_bytes: The most bytes of state of one optimizer.
    """

    def __init__(self) -> None:
        self.training = TrainingRecord()  # counts forwards; no model exists yet whose hooks it could use
        self.rows: list[int] = []
        self.layer_calls = self.steps = self.optimized = self.state_bytes = 0
        self.modes: list[bool] = []
        self.autocast: list[bool] = []
        self.model: dict[str, Any] = {}
        self.start: dict[str, Tensor] = {}
        self.head = ""
        self.optimizers: set[str] = set()
        self.options: set[str] = set()
        self.rates: list[float] = []
        self.decays: set[float] = set()

    def note_module(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Note a call of a module, before its forward."""
        name = type(module).__name__
        if name == "LlamaMLP":  # a checkpoint repeats a layer's forward without its own hooks, and those inside run
            self.layer_calls += 1
        elif name == "LlamaForCausalLM":
            self.head = type(module.lm_head).__name__
        elif name == "LlamaModel":
            self.modes.append(module.training)
            self.autocast.append(torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"))
            if not self.model:
                self.model, self.start = model_facts(module), factors_of(module)
        elif isinstance(module, nn.Embedding) and inputs:
            tokens = inputs[0]
            self.training.forward_rows.append(len(tokens))
            self.rows += row_numbers(tokens.cpu())

    def note_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note a step of an optimizer."""
        held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.steps += 1
        kind = type(optimizer)
        self.optimizers.add(f"{kind.__module__.split('.')[0]}.{kind.__name__}")
        self.optimized = max(self.optimized, sum(value.numel() for value in held if value.requires_grad))
        for group in optimizer.param_groups:
            self.rates += [float(group["lr"])] * (float(group["lr"]) not in self.rates)
            self.options.add(", ".join(f"{name} {group.get(name)}" for name in ("betas", "eps", "amsgrad")))
        self.decays |= {float(group.get("weight_decay", 0.0)) for group in optimizer.param_groups}
        self.state_bytes = max(self.state_bytes, optimizer_state_bytes(optimizer))

    def facts(self) -> dict[str, Any]:
        """Return what was recorded, except for tensors."""
        names = ("rows", "layer_calls", "modes", "autocast", "model", "head", "steps", "optimized", "rates")
        counts = {name: getattr(self, name) for name in (*names, "state_bytes")}
        counts["forward_rows"] = self.training.forward_rows
        sets = {name: sorted(getattr(self, name)) for name in ("optimizers", "options", "decays")}
        return counts | sets


def row_numbers(tokens: Tensor) -> list[int]:
    """Return a number for each row of tokens [rows, time] that tells rows apart."""
    weights = 7 ** torch.arange(tokens.shape[1]).remainder(5)
    return [int(number) for number in (tokens * weights).sum(dim=1)]


def factors_of(model: nn.Module) -> dict[str, Tensor]:
    """Copy the factors of all adapters, by layer, projection and factor."""
    found = {}
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        factor = next((part for part in parts if part in FACTORS), None)
        if factor and "layers" in parts:
            place = parts[parts.index("layers") + 1]
            found[f"{place}.{parts[parts.index(factor) - 1]}.{factor}"] = parameter.detach().float().cpu().clone()
    return found


def model_facts(decoder: nn.Module) -> dict[str, Any]:
    """Return how a decoder is quantized, adapted and frozen."""
    linear = {name: module for name, module in decoder.named_modules() if name.endswith("_proj")}
    bases = [getattr(module, "base_layer", module) for module in linear.values()]
    quantized = [base for base in bases if type(base).__name__ == "Linear4bit"]
    adapted = {name: module for name, module in linear.items() if hasattr(module, "lora_A")}
    states = [base.weight.quant_state for base in quantized]
    parameters = dict(decoder.named_parameters())
    factors = {name: value for name, value in parameters.items() if any(factor in name for factor in FACTORS)}
    return {
        "linear": len(linear),
        "quantized": len(quantized),
        "kinds": sorted({str(base.weight.quant_type) for base in quantized}),
        "are_doubled": bool(states) and all(bool(state.nested) for state in states),
        "compute": sorted({_format(base.compute_dtype) for base in quantized}),
        "adapters": len(adapted),
        "adapted": sorted({name.split(".")[-1] for name in adapted}),
        "factors": sorted({_format(value.dtype) for value in factors.values()}),
        "is_second_random": any(bool(value.any()) for name, value in factors.items() if FACTORS[1] in name),
        "ranks": sorted({int(rank) for module in adapted.values() for rank in module.r.values()}),
        "scales": sorted({float(scale) for module in adapted.values() for scale in module.scaling.values()}),
        "dropouts": sorted({float(_dropout(module)) for module in adapted.values()}),
        "norms": sorted({_format(value.dtype) for name, value in parameters.items() if "norm" in name}),
        "trained": sum(value.numel() for value in parameters.values() if value.requires_grad),
        "base_trained": sum(
            value.numel() for name, value in parameters.items() if value.requires_grad and "lora_" not in name
        ),
    }


def _dropout(module: Any) -> float:
    return max((float(getattr(part, "p", 0.0)) for part in module.lora_dropout.values()), default=0.0)


def _format(dtype: torch.dtype | None) -> str:
    return str(dtype).removeprefix("torch.")


def run_qlora(train: Callable[..., Any], case: QloraCase) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Call the learner's function; return what was recorded, calls of libraries, and factors at the start and end."""
    record = QloraRecord()
    with case.folder() as folder, record_library_calls(record.training) as calls:
        handles = [
            register_module_forward_pre_hook(record.note_module),
            register_optimizer_step_post_hook(record.note_step),
        ]
        try:
            model = train(folder, case.make_dataset(), *case.arguments)
        except ValueError as error:
            if "empty parameter list" not in str(error):
                raise
            look_at = "You make the optimizer while nothing is trainable: preparing freezes what is there. Call "
            look_at += "get_peft_model after it, without inference_mode, and then make the optimizer."
            fail("nothing_to_train", "an optimizer of the factors", f"ValueError: {error}", look_at)
        finally:
            for handle in handles:
                handle.remove()
    if not isinstance(model, nn.Module):
        measured = f"a value of type {type(model).__name__}"
        fail(
            "no_model_returned", "the trained model", measured, "You return no model. Return the one that you trained."
        )
    facts = record.facts() | {"returned": type(model).__name__}
    tensors = {f"start.{name}": value for name, value in record.start.items()}
    return facts, dict(calls), tensors | {f"end.{name}": value for name, value in factors_of(model).items()}
