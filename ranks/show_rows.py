"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from accelerate.accelerator import Accelerator as Accelerator
from accelerate.utils.dataclasses import DataLoaderConfiguration as DataLoaderConfiguration
from torch.utils.data.dataloader import DataLoader as DataLoader
from torch.utils.data.distributed import DistributedSampler as DistributedSampler


def show_rows(rank):
    rows = list(range(10))
    print(f"DistributedSampler  {list(DistributedSampler(rows, shuffle=False))}")
    for name, options in (
        ("prepare", {}),
        ("even_batches=False", {"even_batches": False}),
        ("split_batches=True", {"split_batches": True}),
    ):
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))
        loader = DataLoader(rows, batch_size=6 if "split_batches" in options else 2)
        print(f"{name:<19} {[batch.tolist() for batch in accelerator.prepare(loader)]}")
