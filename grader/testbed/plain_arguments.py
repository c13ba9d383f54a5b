"""The arguments that make the Trainer run the plain loop that the lessons write by hand."""

from __future__ import annotations

from typing import Any

import torch


def plain_trainer_arguments(device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return keyword arguments of `TrainingArguments` that change every default which breaks equality.

    One epoch in order, SGD without weight decay, a constant learning rate, no clipping; nothing saved, logged or
    drawn. Add the batch, the learning rate and what a lesson is about with `|`.

    Args:
        device: Where the run takes place. On a CPU `use_cpu` is set: `bf16=True` asks for a GPU otherwise.

    Source: transformers.TrainingArguments; lesson 00 measures what each default changes.
    """
    equal = {"optim": "sgd", "weight_decay": 0.0, "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    order = {"train_sampling_strategy": "sequential", "num_train_epochs": 1}
    silent = {"report_to": "none", "save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True}
    place = {"output_dir": "trainer_output", "dataloader_pin_memory": False}
    return equal | order | silent | place | {"use_cpu": torch.device(device).type == "cpu"}
