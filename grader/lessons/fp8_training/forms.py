"""Sentence pairs that are trained on in fp8 with Accelerate, and which layers ran in it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.observing.accelerate_state import fresh_accelerate_state
from grader.observing.library_calls import record_library_calls
from grader.observing.optimizer_records import record_updates
from grader.observing.precision import record_precision
from grader.observing.recording import flat_weights, record_training
from grader.testbed.pair_runs import make_run_dataset
from grader.testbed.pretrained import make_bert
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class Fp8FormCase:
    """Sentence pairs for one epoch, in their order; the last batch is one pair short.

    Attributes:
        layers: Layers of the model.
        rows: Rows of a batch.
        updates: Batches of the epoch.
        learning_rate: Of SGD.
        seed: Seed of data and weights.
    """

    layers: int
    rows: int
    updates: int
    learning_rate: float
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a BERT classifier without dropout, with matrices five times as large as usual."""
        words = len(make_tokenizer())
        model = make_bert(
            self.layers, 32, 2, vocabulary=words, longest_time=LONGEST_PAIR_TOKENS, dropout=0.0, seed=self.seed
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(5 if parameter.dim() > 1 else 1)
        return model

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs; those of one batch have one label, so that their gradients do not cancel."""
        count = self.rows * self.updates - 1
        written = make_run_dataset(4 * count, self.seed)
        left = {label: [row for row, is_same in enumerate(written["labels"]) if is_same == label] for label in (0, 1)}
        return written.select([left[pair // self.rows % 2].pop() for pair in range(count)])


def fp8_form_cases(seed: int) -> tuple[Fp8FormCase, ...]:
    """A model of one layer and one of three; updates are odd in number, so that the two labels do not cancel."""
    draw = random.Random(seed)
    return Fp8FormCase(1, 4, 3, 0.02, seed), Fp8FormCase(3, 3, draw.choice((3, 5)), draw.choice((0.02, 0.03)), seed + 1)


@contextlib.contextmanager
def record_layers(model: nn.Module) -> Iterator[dict[str, Any]]:
    """Record which linear layers ran in fp8 and which did not.

    Yields:
        "kinds": the class of each linear layer at the end of the run, by name; "emulated": whether each fp8 layer
        computes without the hardware's fp8 products; "tokens": of each row that ran, its sum of tokens;
        "is_converted_before": whether a layer was in fp8 when prepare was first called.
    """
    from accelerate import Accelerator

    record: dict[str, Any] = {"tokens": [], "is_converted_before": False}
    prepare = Accelerator.prepare

    def noting_prepare(accelerator: Accelerator, *arguments: Any, **keywords: Any) -> Any:
        if not record.setdefault("is_prepared", False):
            record["is_prepared"] = True
            record["is_converted_before"] = any(type(module).__name__ == "Float8Linear" for module in model.modules())
        return prepare(accelerator, *arguments, **keywords)

    def before_forward(_: nn.Module, __: Any, keywords: dict[str, Any]) -> None:
        if isinstance(tokens := keywords.get("input_ids"), Tensor):
            record["tokens"] += tokens.sum(dim=1).tolist()

    handle = model.register_forward_pre_hook(before_forward, with_kwargs=True)
    Accelerator.prepare = noting_prepare
    try:
        yield record
    finally:
        Accelerator.prepare = prepare
        handle.remove()
    linears = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    record["kinds"] = {name: type(module).__name__ for name, module in linears.items()}
    configs = [config for module in linears.values() if (config := getattr(module, "config", None)) is not None]
    record["emulated"] = [bool(getattr(config, "emulate", False)) for config in configs]
    record["has_fp8"] = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)
    record["is_lowered"] = torch.cuda.is_available() and not record["has_fp8"]  # Accelerate makes fp16 of fp8 there


def run_form(train: Callable[..., Any], case: Fp8FormCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train a model; return how its weights moved, and what was recorded."""
    model = case.make_model().to(lesson_device())
    start = flat_weights(model).clone()
    with fresh_accelerate_state(), record_layers(model) as layers, record_training(model) as record:
        with record_updates(model) as updates, record_precision(model) as precision:
            with record_library_calls(record) as calls:
                train(model, case.make_dataset(), case.rows, case.learning_rate)
    facts = {"forward_rows": record.forward_rows, "precision": precision.facts(), "calls": calls, **layers}
    given = [sum(tokens.tolist()) for tokens in case.make_dataset()["input_ids"]]
    facts["is_in_order"] = facts.pop("tokens") == given
    facts |= {"update_count": len(updates.updates), "events": record.events}
    facts["optimizers"] = sorted({_describe(update) for update in updates.updates})
    return {"movement": (flat_weights(model) - start).cpu()}, facts


def _describe(update: dict[str, Any]) -> str:
    """Name an optimizer, what it adds to the gradient, and how many parameters it leaves out."""
    rates = [rate for rate in update["rates"] if rate is not None]
    options = {"weight decay": max(filter(None, update["decays"]), default=0), **update["options"]}
    added = "".join(f", {name} {options[name]:g}" for name in ("weight decay", "momentum") if options.get(name))
    left_out = len(update["rates"]) - len(rates)
    return f"{update['optimizer']} with lr {rates[0]:g}{added}" + f", without {left_out} parameters" * (left_out > 0)
