"""What runs in each rank when a check trains with Accelerate or with the Trainer.

Its imports are those that libraries put off until a name is first used. The process of the ranks imports this module
once, before it becomes them; else each rank would import them again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accelerate import Accelerator
from datasets import Dataset
from torch import Tensor, nn
from transformers import BertForSequenceClassification, DataCollatorWithPadding, PreTrainedTokenizerFast, Trainer

from grader.lessons.data_loading.forms import LEARNING_RATE, loading_cases
from grader.observing.library_calls import record_library_calls
from grader.observing.rank_records import named_tensors, record_rank_training

FIRST_USED_HERE = (
    Accelerator,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    Dataset,
    PreTrainedTokenizerFast,
    Trainer,
)


def observe_loading(answer: Callable[..., Any], seed: int, number: int) -> dict[str, Any]:
    """Train one epoch in one form on this rank."""
    case = loading_cases(seed)[number]
    model, dataset = case.make_model(), case.make_dataset()
    with (
        record_rank_training(model) as (record, _),
        record_library_calls(record) as called,
        watch_unequal_rows(model, dataset["input_ids"]) as forwards,
    ):
        answer(model, dataset, case.make_batches(), case.make_collate(), LEARNING_RATE)
    tensors = named_tensors(record)
    kept = {name: value for name, value in tensors.items() if name.startswith("gradient")}
    last = max((name for name in tensors if name.startswith("weights")), key=lambda name: int(name.split(".")[1]))
    facts = record.facts() | {"library": called, "forwards": forwards}
    return {"facts": facts, "tensors": kept | {"weights": tensors[last]}}


@contextlib.contextmanager
def watch_unequal_rows(model: nn.Module, known: Sequence[Sequence[int]]) -> Iterator[list[dict[str, Any]]]:
    """Note for each forward which of the known rows it was given as `input_ids`, -1 for others, and how wide it was."""
    numbers = {tuple(row): number for number, row in enumerate(known)}
    seen: list[dict[str, Any]] = []

    def before_forward(_: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        inputs = arguments[0] if arguments else keywords.get("input_ids")
        if not isinstance(inputs, Tensor) or inputs.dim() != 2:
            seen.append({"rows": [], "width": 0})
            return
        texts = [tuple(token for token in row if token) for row in inputs.tolist()]  # padding is token 0
        seen.append({"rows": [numbers.get(text, -1) for text in texts], "width": inputs.shape[1]})

    hook = model.register_forward_pre_hook(before_forward, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()
