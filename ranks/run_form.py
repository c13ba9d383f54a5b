"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from torch.utils.data.dataloader import DataLoader as DataLoader
from torch.utils.data.dataset import TensorDataset as TensorDataset
import torch as torch
import torch.distributed as dist
import torch.nn.functional as F


def make_small_job(world_size):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    return model, TensorDataset(torch.randn(128 * world_size, 8), torch.randn(128 * world_size, 1))


def run_form(world_size, train_form, **options):
    import time

    for _ in range(2):  # the second one counts
        model, dataset = make_small_job(world_size)
        started = time.perf_counter()
        train_form(model, dataset, 4, 2, 8, 0.1, **options)
        seconds = time.perf_counter() - started
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]), seconds


def average_tensors(tensors, world_size):
    """Replace each tensor by its mean over all ranks."""
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size


def micro_batches_of(dataset, rows):
    return list(DataLoader(dataset, batch_size=rows))


def train_with_pytorch(model, dataset, rows, k, every, learning_rate, is_plain=False):
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    if not is_plain:
        optimizer = PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=every, warmup_steps=every - 1))
    for index, (inputs, targets) in enumerate(
        micro_batches_of(dataset, rows)[dist.get_rank() :: dist.get_world_size()]
    ):
        (F.mse_loss(model(inputs), targets) / k).backward()
        if (index + 1) % k == 0:
            if is_plain:
                average_tensors([parameter.grad for parameter in model.parameters()], dist.get_world_size())
            optimizer.step()
            optimizer.zero_grad()


train_form = train_with_pytorch
