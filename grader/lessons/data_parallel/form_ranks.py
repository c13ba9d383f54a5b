"""What runs in each rank when a check trains with Accelerate or with the Trainer.

Its imports are those that libraries put off until a name is first used. The process of the ranks imports this module
once, before it becomes them; else each rank would import them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelerate import Accelerator
from datasets import Dataset
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast, Trainer

from grader.lessons.data_parallel.forms import parallel_forms_cases
from grader.lessons.data_parallel.hooks import LEARNING_RATE
from grader.observing.library_calls import record_library_calls
from grader.observing.rank_records import named_tensors, record_rank_training, watch_rows

FIRST_USED_HERE = (Accelerator, BertForSequenceClassification, Dataset, PreTrainedTokenizerFast, Trainer)


def observe_form(answer: Callable[..., Any], seed: int, number: int) -> dict[str, Any]:
    """Train one epoch in one form on this rank."""
    case = parallel_forms_cases(seed)[number]
    model, dataset = case.make_model(), case.make_dataset()
    tokens = list(dataset.with_format("torch")["input_ids"])
    with (
        record_rank_training(model) as (record, calls),
        record_library_calls(record) as called,
        watch_rows(model, tokens) as seen,
    ):
        answer(model, dataset, case.batch, case.k, LEARNING_RATE)
    facts = record.facts() | {"calls": calls, "library": called, "seen": seen}
    return {"facts": facts, "tensors": named_tensors(record)}
