"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from accelerate.accelerator import Accelerator as Accelerator
from accelerate.local_sgd import LocalSGD as LocalSGD
from torch.utils.data.dataloader import DataLoader as DataLoader
from torch.utils.data.dataset import TensorDataset as TensorDataset
import torch as torch
import torch.nn.functional as F


def make_small_job(world_size):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    return model, TensorDataset(torch.randn(128 * world_size, 8), torch.randn(128 * world_size, 1))


def accelerate_on_a_rank(world_size, train_form):
    model, dataset = make_small_job(world_size)
    train_form(model, dataset, 4, 2, 8, 0.1)  # rows, k, every, learning rate: 32 micro-batches, 16 updates
    return model[2].bias.detach(), model[1].running_mean


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


train_form = train_local_sgd_with_accelerate
