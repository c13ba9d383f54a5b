"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from accelerate.accelerator import Accelerator as Accelerator
from accelerate.local_sgd import LocalSGD as LocalSGD
from grader.lessons.local_sgd.form_ranks import observe_accelerated as observe_accelerated
from torch.utils.data.dataloader import DataLoader as DataLoader
import torch as torch
import torch.nn.functional as F


def train_local_sgd_with_accelerate(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    """Train one epoch on this rank with Accelerate's LocalSGD.

    Args:
        model: Called on inputs [rows, features].
        dataset: (inputs, targets) of all ranks.
        rows: Rows of one micro-batch.
        k: Micro-batches for one update.
        every: Updates between two averages.
        learning_rate: Of SGD.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                optimizer.zero_grad()
                local_sgd.step()
    ### END SOLUTION


answer = train_local_sgd_with_accelerate
