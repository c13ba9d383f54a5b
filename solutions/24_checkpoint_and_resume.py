# %% [markdown]
# # 24. Checkpoint and resume
#
# You stop a training run at any moment, and continue it so that no bit of the result shows it.
#
# 75 min (estimated) · CPU is enough · after lessons 02 and 04

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict which parts of a run a checkpoint must hold;
# - save a file so that a kill at any moment leaves the old checkpoint or the new one;
# - write a training loop that another process continues in the middle of an epoch, bit for bit equal;
# - start a killed run again with Accelerate and with the Trainer.

# %% tags=["given"]
import copy
import io
import os
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import TensorDataset

from grader import device_name, look

print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 02: an epoch has 11 micro-batches, and k is 4. How large is the last group?</summary>
# Three micro-batches, and its gradient is divided by three.
# </details>
# <details><summary>Lesson 04: what does a loss scale depend on?</summary>
# On the updates before: it falls after an overflow, and rises after a number of updates without one.
# </details>

# %% [markdown]
# **The problem.** Jobs on shared machines have time limits, and large jobs fail: during 54 days of training Llama 3
# 405B on up to 16,384 GPUs, Meta counted 419 unexpected interruptions, one in about three hours. A run must be able to
# continue from a file, the **checkpoint**. Most scripts save the weights. Is that enough to **resume**, that is, to go
# on as if nothing had happened? The next cells build a small run to try it.


# %% tags=["given"]
def make_dataset():
    draw = torch.Generator().manual_seed(7)
    inputs = torch.randn(41 * 16, 32, generator=draw)  # 41 micro-batches of 16 rows
    return TensorDataset(inputs, inputs[:, :4].prod(dim=1, keepdim=True))


def make_run(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=70)
    return model, optimizer, scheduler, torch.Generator().manual_seed(seed + 1)


dataset = make_dataset()


# %% tags=["given"]
def run_group(model, optimizer, scheduler, dataset, group):
    """Make one update from a group of micro-batches, each of which is a tensor of row numbers."""
    optimizer.zero_grad()
    for rows in group:
        inputs, targets = dataset[rows]
        (F.mse_loss(model(inputs), targets) / len(group)).backward()
    optimizer.step()
    scheduler.step()


def run_epochs(model, optimizer, scheduler, generator, epochs):
    for _ in range(epochs):
        batches = torch.randperm(len(dataset), generator=generator).split(16)
        for start in range(0, len(batches), 4):
            run_group(model, optimizer, scheduler, dataset, batches[start : start + 4])


# %%
def weights_of(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


whole, resumed = make_run(0), make_run(0)
start = weights_of(whole[0])
run_epochs(*whole, epochs=3)
resumed[0].load_state_dict(whole[0].state_dict())
run_epochs(*whole, epochs=3)
run_epochs(*resumed, epochs=3)
distance = (weights_of(resumed[0]) - weights_of(whole[0])).norm() / (weights_of(whole[0]) - start).norm()
print(f"resumed with its weights alone, the run ends {distance:.0%} of its movement away")

# %% [markdown]
# The distance between the two results, as a share of the distance that training moved the weights, is large. Whatever
# decides a later update is part of the run's state. What is that?

# %% [markdown]
# ## Predict: what a checkpoint holds
#
# A resumed process builds everything as the first one did at its start, then loads the weights and the parts of the
# checkpoint. Only the default random generator begins elsewhere. The parts:
# - `optimizer`, `scheduler`, `scaler`: the state of each (a scaler is the loss scale and its counter);
# - `rng`: the state of the default generator, from which only dropout draws;
# - `order`: the state of the generator that shuffles, which draws once per epoch;
# - `position`: the place within the epoch; without it, the process starts a new epoch;
# - `gradients`: what the micro-batches of an unfinished group have added.

# %% [markdown]
# **Exercise.** Name the parts, besides the weights, without which the resumed run is not bit for bit equal.
#
# *Contract.* `run` is a dict of facts. The checkpoint is made after `update` updates, not in the first epoch.
# - `optimizer`: "sgd" (plain), "momentum" or "adamw".
# - `schedule`: "constant", "cosine", or "warm_up": the rate rises over the first `warm_up` updates of the run and is
#   constant afterwards; with 0, it is constant throughout.
# - `dropout`: a probability. `precision`: "float32", "bf16" or "fp16", the last one with a loss scale.
# - `rows`: "in order" or "shuffled".
# - In the current epoch, `micro_batch` of `micro_batches` micro-batches are done. Groups of `k` make an update; an
#   epoch's last group may be short.
#
# Return a set of names.

# %% tags=["given"]
from grader import check_parts_needed


# %% exercise="parts_needed"
def parts_needed(run: dict) -> set:
    """Parts of a run that its checkpoint needs.

    Args:
        run: Facts by name: optimizer, schedule, warm_up, update, dropout, precision, rows, micro_batches,
            micro_batch, k.

    Returns:
        Names out of optimizer, scheduler, scaler, rng, order, position, gradients.
    """
    ### BEGIN SOLUTION
    is_within = run["micro_batch"] < run["micro_batches"]
    needed = {
        "optimizer": run["optimizer"] != "sgd",
        "scheduler": run["schedule"] == "cosine" or (run["schedule"] == "warm_up" and run["warm_up"] > 0),
        "scaler": run["precision"] == "fp16",
        "rng": run["dropout"] > 0,
        "order": run["rows"] == "shuffled",
        "position": is_within,
        "gradients": is_within and run["micro_batch"] % run["k"] != 0,
    }
    return {name for name, is_needed in needed.items() if is_needed}
    ### END SOLUTION


# %%
def show_parts():
    run = {"optimizer": "adamw", "schedule": "cosine", "warm_up": 0, "update": 33, "dropout": 0.2}
    run |= {"precision": "float32", "rows": "shuffled", "micro_batches": 41, "micro_batch": 41, "k": 4}
    print("the run above, at the end of its third epoch:", ", ".join(sorted(parts_needed(run))))


look(show_parts)

# %% check="check_parts_needed" points=3
check_parts_needed(parts_needed)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take one part away, and follow the new process to its first update. Which number differs?<br>
# Then: a part may hold a count although it looks constant now. What does a new scheduler do first?
# </details>

# %% [markdown]
# **Run.** The next cells save the run at the end of its third epoch, and resume it with parts added one by one. Compare
# with your prediction. Everything goes through `torch.save` and `torch.load`, as it would for another process.


# %% tags=["given"]
def save_parts(model, optimizer, scheduler, generator):
    parts = {"weights": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    file = io.BytesIO()
    torch.save({**parts, "order": generator.get_state(), "rng": torch.get_rng_state()}, file)
    return file.getvalue()


def load_parts(model, optimizer, scheduler, generator, saved, names):
    parts = torch.load(io.BytesIO(saved), weights_only=True)  # data only: no code of the file runs
    loads = {"weights": model.load_state_dict, "optimizer": optimizer.load_state_dict}
    loads |= {"scheduler": scheduler.load_state_dict, "order": generator.set_state, "rng": torch.set_rng_state}
    for name in names:
        loads[name](parts[name])


# %%
whole = make_run(0)
run_epochs(*whole, epochs=3)
saved = save_parts(*whole)
run_epochs(*whole, epochs=3)
movement = (weights_of(whole[0]) - start).norm()


def distance_with(names):
    resumed = make_run(0)
    torch.manual_seed(2)  # a new process does not repeat the masks of the old one
    load_parts(*resumed, saved, names)
    run_epochs(*resumed, epochs=3)
    return (weights_of(resumed[0]) - weights_of(whole[0])).norm() / movement


names = ["weights", "optimizer", "scheduler", "order", "rng"]
print("distance from the uninterrupted run, as a share of its movement")
for count, name in enumerate(names, start=1):
    others = distance_with([other for other in names if other != name])
    print(f"up to {name:<10} {distance_with(names[:count]):.4f}     all except it {others:.4f}")

# %% [markdown]
# With all parts, the distance is 0: the two results are equal to the last bit. Each part that is left out moves the
# result away. A small distance does not mean a small effect on quality, nor a large one a bad model: these are other
# draws of the same training. What is lost is the *comparison*. If two runs differ, you want to know that the change
# you made is the reason, and not the restart.
#
# `rng` is the generator of one device. A run on a GPU saves `torch.cuda.get_rng_state()` as well, and one in several
# ranks saves the generators of each rank.

# %% [markdown]
# ## Write: a save that a kill cannot break
#
# The job is killed while it saves. What does the next process find?

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "checkpoint.pt"
    path.write_bytes(saved[: len(saved) // 2])  # as if the process had ended halfway
    try:
        torch.load(path, weights_only=True)
    except Exception as error:  # a truncated archive is reported in several ways
        print(f"{len(saved) // 2:,} of {len(saved):,} bytes: {type(error).__name__}: {str(error).splitlines()[0][:60]}")

# %% [markdown]
# If the file was the only checkpoint, the run is lost. Three calls prevent that. A *flush* hands Python's buffer to the
# system. `os.fsync(file.fileno())` waits until the system has written the file to the disk, so that a power cut cannot
# lose it. `os.replace(source, target)` gives the file another name *in one step*, within one file system: there is no
# moment at which a reader sees neither file or a part of one.

# %% [markdown]
# **Exercise.** Save atomically.
#
# *Contract.*
# - `path` is a `Path`; a file may exist there. `write(file)` writes the checkpoint into a binary file that you open;
#   call it once.
# - Whenever the process is killed, a reader of `path` finds the old content or the new one, whole. A later save works
#   although a killed one left something behind.
# - The temporary file is in the same folder, complete and on the disk before it gets its name.
# - If `write` raises, the old file stays as it is, the temporary file is removed, and the same error is raised
#   again.

# %% tags=["given"]
from grader import check_killed_saves, check_saved_order


# %% exercise="save_atomically"
def save_atomically(path: Path, write) -> None:
    """Replace a checkpoint in one step.

    Args:
        path: The checkpoint.
        write: Called with a binary file; writes the new content.
    """
    ### BEGIN SOLUTION
    temporary = path.with_suffix(".tmp")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    ### END SOLUTION


# %%
def show_saves():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        for update in (100, 200):
            save_atomically(path, lambda file, update=update: torch.save({"update": update}, file))
            print(torch.load(path, weights_only=True), "in", [entry.name for entry in Path(folder).iterdir()])


look(show_saves)

# %% check="check_killed_saves" points=2
check_killed_saves(save_atomically)

# %% check="check_saved_order" points=2
check_saved_order(save_atomically)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: list the files that exist after each of your lines. Which line must a kill not hit?<br>
# Then: three things can still be on their way when `write` returns: bytes in Python's buffer, bytes in the system's
# memory, and the name.
# </details>

# %% [markdown]
# The new *name* is data too, and belongs to the folder. To survive a power cut right after the rename, programs also
# call `os.fsync` on the folder; without it, a reader may find the old checkpoint, but never half of one. Files are also
# lost in other ways: keep the last two or three checkpoints, and read one back before you rely on it.

# %% [markdown]
# ## Write: continue in the middle of an epoch
#
# Real epochs take days, so a run is interrupted within them. The state then needs the place within the epoch, and the
# order that this epoch has.

# %% [markdown]
# **Exercise.** Train, and return a state from which another process goes on.
#
# *Contract.*
# - Each epoch's order is `torch.randperm(len(dataset), generator=generator)`, split into micro-batches of `rows`. Each
#   update is `run_group` on the next `k` of them; an epoch's last group may be short.
# - Train until `updates` updates have been made in total, those behind `state` included.
# - `state` is what an earlier call returned, after `torch.save` and `torch.load(weights_only=True)`; all other
#   arguments are new objects: the model's weights and the generators' seeds differ.
# - Return a dict, which does not change when the run goes on, nor grow with the number of updates.

# %% tags=["given"]
from grader import check_resumed_run, check_saved_state


# %% exercise="train_until"
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None) -> dict:
    """Train to a total number of updates.

    Args:
        model: Its dropout draws from the default generator.
        optimizer: Updates the model.
        scheduler: Makes one step per update.
        generator: Draws the order of each epoch.
        dataset: Indexed by a tensor of row numbers.
        rows: Of a micro-batch.
        k: Micro-batches of an update.
        updates: In total.
        state: What an earlier call returned.

    Returns:
        The state.
    """
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    ### BEGIN SOLUTION
    done, position, order = 0, 0, generator.get_state()  # of the epoch's start, before its order is drawn
    if state is not None:
        done, position, order = state["done"], state["position"], state["order"]
        for name, part in parts.items():
            part.load_state_dict(state[name])
        torch.set_rng_state(state["rng"])
    while done < updates:
        generator.set_state(order)
        batches = torch.randperm(len(dataset), generator=generator).split(rows)
        run_group(model, optimizer, scheduler, dataset, batches[position : position + k])
        done, position = done + 1, position + k
        if position >= len(batches):
            position, order = 0, generator.get_state()
    counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
    return copy.deepcopy({name: part.state_dict() for name, part in parts.items()} | counts)
    ### END SOLUTION


# %%
def show_resumed():
    whole = make_run(0)
    train_until(*whole, dataset, 16, 4, 50)
    first, file = make_run(0), io.BytesIO()
    torch.save(train_until(*first, dataset, 16, 4, 29), file)
    print(f"after 29 of 50 updates: a state of {len(file.getvalue()):,} bytes")
    file.seek(0)
    resumed = make_run(5)
    train_until(*resumed, dataset, 16, 4, 50, torch.load(file, weights_only=True))
    distance = (weights_of(resumed[0]) - weights_of(whole[0])).norm() / (weights_of(whole[0]) - start).norm()
    print(f"after 50: distance from the uninterrupted run {distance:.4f}")


look(show_resumed)

# %% check="check_resumed_run" points=3
check_resumed_run(train_until)

# %% check="check_saved_state" points=2
check_saved_state(train_until)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw an epoch of seven micro-batches with k = 2, and mark the place after five updates.<br>
# Then: a generator's state is a place in a sequence. At which place was it when this epoch's order was drawn, and where
# is it afterwards?
# </details>

# %% [markdown]
# **Modify.** In the cell after the exercise, resume with `k = 2` in place of 4. Before you run it: does it fail, end
# at another number of updates, or give other weights?
#
# <details><summary>Answer</summary>
# Other weights, and no error. A state is right only together with the settings of its run, which many programs save
# and compare as well.
# </details>

# %% [markdown]
# ## In Accelerate
#
# `accelerator.save_state(folder)` writes the weights, the optimizer, the scheduler, the loss scale and the generators,
# and `load_state` reads them. Gradients are not among them; `accelerator.sync_gradients` is true right after the update
# of a group.
#
# The place within the epoch is left to you: `skip_first_batches(loader, count)` returns a loader that passes over the
# first `count` micro-batches. The order of an epoch is not saved either. With `use_seedable_sampler`, it depends on a
# seed and on the number of the epoch, which `set_epoch(epoch)` tells a loader, also one that skips.

# %% tags=["given"]
from accelerate import Accelerator, DataLoaderConfiguration
from torch.utils.data import DataLoader


def save_run(accelerator, folder, epoch, place):
    """Save all parts, and how many micro-batches of the epoch are done; if killed, leave nothing named save-*."""
    unfinished = Path(folder) / "unfinished"
    accelerator.save_state(unfinished)
    (unfinished / "place.txt").write_text(f"{epoch} {place}")
    unfinished.rename(Path(folder) / f"save-{epoch:03}-{place:05}")


def newest_save(folder):
    """Return the newest save, its epoch and its place; None if there is none."""
    saves = sorted(Path(folder).glob("save-*"))
    return (saves[-1], *map(int, (saves[-1] / "place.txt").read_text().split())) if saves else None


# %% [markdown]
# **Exercise.** Train with Accelerate so that a killed run can be started again.
#
# *Contract.*
# - All objects are prepared, and the accelerator accumulates. The loss is `F.mse_loss`. Call the model, `step` and
#   `zero_grad` for each micro-batch; prepared objects wait for the group.
# - Save with `save_run` after each update, and at no other moment.
# - If `folder` has a save, go on from the newest one. `epochs` is the total.
# - A run that was killed and started again ends in the weights of an uninterrupted run, bit for bit.
#
# The check kills three runs, one of them before its first save, and starts each again with new objects.

# %% tags=["given"]
from grader import check_resumed_accelerate


# %% exercise="train_with_accelerate"
def train_with_accelerate(accelerator, model, optimizer, scheduler, loader, epochs: int, folder: str) -> None:
    """Train, or go on with what the folder holds.

    Args:
        accelerator: Accumulates a number of micro-batches.
        model: Prepared, like the next three.
        optimizer: Updates the model.
        scheduler: Makes one step per update.
        loader: Draws each epoch's order from a seed and the epoch.
        epochs: In total.
        folder: Where saves are.
    """
    epoch, place = 0, 0
    ### BEGIN SOLUTION
    found = newest_save(folder)
    if found:
        path, epoch, place = found
        accelerator.load_state(path)
    for current in range(epoch, epochs):
        batches = accelerator.skip_first_batches(loader, place) if place else loader
        batches.set_epoch(current)
        for done, (inputs, targets) in enumerate(batches, start=place + 1):
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                for part in (optimizer.step, scheduler.step, optimizer.zero_grad):
                    part()
            if accelerator.sync_gradients:
                save_run(accelerator, folder, current, done)
        place = 0
    ### END SOLUTION


# %%
def show_accelerated():
    order, ends = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=3), []
    for folders in ((4,), (2, 4)):  # epochs of each process; the second folder sees two of them
        with tempfile.TemporaryDirectory() as folder:
            for process, epochs in enumerate(folders):
                model, optimizer, scheduler, generator = make_run(process)
                accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4, dataloader_config=order)
                loader = DataLoader(dataset, batch_size=16, shuffle=True, generator=generator)
                parts = accelerator.prepare(model, optimizer, scheduler, loader)
                train_with_accelerate(accelerator, *parts, epochs, folder)
        ends.append(weights_of(model))
    print(f"stopped after 2 of 4 epochs: distance {(ends[1] - ends[0]).norm() / (ends[0] - start).norm():.4f}")


look(show_accelerated)

# %% check="check_resumed_accelerate" points=2
check_resumed_accelerate(train_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: for a save in the second epoch, after 8 of 11 micro-batches, write down which micro-batches come next until the
# end of the third epoch.<br>
# Then: what is skipped is skipped once. Which loader has to know the number of the epoch?
# </details>

# %% [markdown]
# The loader above has a `generator` of its own. Without one, it draws a seed from the default generator at the start of
# each epoch, where dropout draws as well; a resumed run would draw at another moment. And each save is complete or
# invisible: `save_state` alone writes several files, one after the other, into the folder that it is given.

# %% [markdown]
# ## In the Trainer
#
# The Trainer saves every `save_steps` updates, and `train(resume_from_checkpoint=...)` goes on from a checkpoint:
# `True` takes the latest one of `output_dir`, and raises an error if there is none. `get_last_checkpoint` returns its
# path, or None. The Trainer draws each epoch's order again from its `seed`, and skips what was done.

# %% tags=["given"]
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from grader import check_resumed_trainer


class Regression(nn.Module):
    """Returns its loss, as the Trainer expects."""

    def __init__(self):
        super().__init__()
        self.layers = make_run(0)[0]

    def forward(self, inputs, targets):
        """Return the loss and the outputs."""
        outputs = self.layers(inputs)
        return {"loss": F.mse_loss(outputs, targets), "outputs": outputs}


# %% [markdown]
# **Exercise.** Do the same with the Trainer.
#
# *Contract.*
# - `model` returns its loss, and `examples` are its arguments. Keep `arguments` as they are, and add your own.
# - Save into `folder` after every `every` updates. If it has a checkpoint, go on from the newest one.
# - A run that was killed and started again ends in the weights of an uninterrupted run, bit for bit.


# %% exercise="train_with_trainer"
def train_with_trainer(model, examples: list, arguments: dict, every: int, folder: str) -> None:
    """Train, or go on with what the folder holds.

    Args:
        model: Returns its loss.
        examples: Rows of the data set.
        arguments: Of TrainingArguments.
        every: Updates between two saves.
        folder: Where checkpoints are.
    """
    ### BEGIN SOLUTION
    own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every}
    trainer = Trainer(model, TrainingArguments(**arguments, **own), train_dataset=examples)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))
    ### END SOLUTION


# %%
def show_trainer():
    sizes = {"per_device_train_batch_size": 16, "gradient_accumulation_steps": 4, "use_cpu": True, "seed": 3}
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no"}
    examples = [{"inputs": inputs, "targets": targets} for inputs, targets in dataset]
    with tempfile.TemporaryDirectory() as folder:
        train_with_trainer(Regression(), examples, {"num_train_epochs": 1, **sizes, **quiet}, 5, folder)
        for checkpoint in sorted(Path(folder).glob("checkpoint-*")):
            print(checkpoint.name, ", ".join(sorted(entry.name for entry in checkpoint.iterdir())))


look(show_trainer)

# %% check="check_resumed_trainer" points=2
check_resumed_trainer(train_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: by which argument does the Trainer save by updates, and not by epochs? Its default is 500 updates.<br>
# Then: what does `train` do if it is not told about a checkpoint?
# </details>

# %% [markdown]
# With `ignore_data_skip=True` the Trainer resumes faster and restarts the epoch. With `save_only_model=True` its
# checkpoints hold the weights alone, and cannot be resumed.

# %% [markdown]
# ## The price
#
# The next cell saves a larger model with AdamW.

# %%
import time

model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8)))
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(4, 1024)).sum().backward()
optimizer.step()
count = sum(weight.numel() for weight in model.parameters())
for name, parts in {
    "weights": model.state_dict(),
    "weights and AdamW": {"model": model.state_dict(), "optimizer": optimizer.state_dict()},
}.items():
    with tempfile.TemporaryFile() as file:
        begin = time.perf_counter()
        torch.save(parts, file)
        file.flush()
        os.fsync(file.fileno())
        seconds = time.perf_counter() - begin
        print(
            f"{name:<18} {file.tell() / count:6.2f} bytes per parameter, {file.tell() / 1e6:6.1f} MB, {seconds:.2f} s"
        )

# %% [markdown]
# Weights alone take 4 bytes per parameter in float32, and weights with AdamW's two moments 12. How often should a run
# save? Each save costs its time, and each failure the work since the last one. Young's rule balances the two:
# `sqrt(2 x seconds of a save x seconds between failures)`.

# %%
for between_failures in (3 * 3600, 7 * 24 * 3600):
    for save_seconds in (2, 60):
        interval = (2 * save_seconds * between_failures) ** 0.5
        hours, minutes = between_failures / 3600, interval / 60
        print(f"a failure in {hours:3.0f} h, a save of {save_seconds:2d} s: save every {minutes:3.0f} min")

# %% [markdown]
# Large runs make the save itself cheap. With `torch.distributed.checkpoint`, every rank writes its own shard in
# parallel (Further loads the result with another number of ranks); its `async_save` copies the state to CPU memory and
# writes it while training goes on. `StatefulDataLoader` of torchdata has a `state_dict` that holds the place, even with
# workers. `torchrun --max-restarts` starts all ranks again when one fails; resuming is still the script's work.

# %% [markdown]
# Checkpoints also serve a run that did *not* fail. When the loss of PaLM spiked, its authors went back about 100 steps
# before the spike and skipped 200 to 500 batches. That needs old checkpoints, and a log that says which batches were
# seen.

# %% [markdown]
# **What to log**, for each update: the loss, the norm of the gradient before clipping, the learning rate, the loss
# scale, and tokens per second. In several ranks, one rank writes the log; the step times of all ranks show which of
# them the others wait for. A resumed run continues the count of its checkpoint, so that it extends its curve instead of
# drawing over it.
#
# A *tracker* keeps these series. TensorBoard and Trackio write local files and need no account. MLflow stores runs in a
# database, where one query compares hundreds of them; Weights & Biases is a hosted service; Kubeflow also starts the
# jobs. Accelerate takes the name as `Accelerator(log_with=...)`, the Trainer as `report_to`.

# %% [markdown]
# - **Use it when** a run is longer than you are willing to repeat, or its machine has a time limit.
# - **Do not** pay for equality to the bit where it does not exist: some GPU kernels add in an order that varies, and
#   another number of ranks adds in another one. All parts still belong in the checkpoint.
# - **Combine with** sharding (lesson 18), whose ranks each save a part, and a loss scale (lesson 04), whose state is
#   easily forgotten.

# %% [markdown] tags=["further"]
# ## Further: from four ranks to two
#
# A run saved its state on four ranks, and you get only two of them back. Each of the two takes over numbers that
# several ranks wrote: the checkpoint must be **resharded**. One way is to read everything on every rank. But a state
# is sharded because it is too large for one of them.
#
# Take one flat vector that is sharded as in lesson 18: all shares have the same length, and zeros fill the last ones.

# %% [markdown]
# **Exercise.** Load one rank's share.
#
# *Contract.*
# - A vector has `elements` numbers. `old_ranks` ranks saved it in shares of `elements / old_ranks` numbers, rounded up:
#   10 elements make 4 shares of 3, and the last share ends in two zeros. A share may be all zeros.
# - `read(old_rank, start, stop)` returns the numbers from `start` up to, but not including, `stop` of that rank's
#   share, as a 1-D float32 tensor.
# - Return the share of `rank` among `ranks`, by the same rule for the new number of ranks, which may be larger or
#   smaller, as a 1-D tensor.
# - Read each element in that share once, and nothing else: neither other ranks' elements nor the zeros at the end.

# %% tags=["given"]
from grader import check_resharded


# %% exercise="reshard"
def reshard(read, elements: int, old_ranks: int, ranks: int, rank: int) -> torch.Tensor:
    """Load one rank's share of a vector that another number of ranks saved.

    Args:
        read: Returns a part of a saved share, called as `read(old_rank, start, stop)`.
        elements: Numbers in the vector.
        old_ranks: Ranks that saved it.
        ranks: Ranks that load it.
        rank: The rank whose share is returned.

    Returns:
        The share, with zeros where it lies beyond the end of the vector.
    """
    ### BEGIN SOLUTION
    old_length = -(-elements // old_ranks)
    length = -(-elements // ranks)
    share = torch.zeros(length)
    place, end = rank * length, min((rank + 1) * length, elements)
    while place < end:
        old_rank, start = divmod(place, old_length)
        stop = min(old_length, start + end - place)
        share[place - rank * length :][: stop - start] = read(old_rank, start, stop)
        place += stop - start
    return share
    ### END SOLUTION


# %%
def show_shares():
    saved = torch.tensor([*range(10, 20), 0, 0]).float().split(3)

    def read(old_rank, start, stop):
        return saved[old_rank][start:stop]

    print("saved by 4 ranks:", [share.int().tolist() for share in saved])
    for ranks in (2, 3, 6):
        loaded = [reshard(read, 10, 4, ranks, rank) for rank in range(ranks)]
        print(f"loaded by {ranks} ranks:", [share.int().tolist() for share in loaded])


look(show_shares)

# %% check="check_resharded" points=2
check_resharded(reshard)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: at which places of the whole vector does your share begin and end?<br>
# Then: which saved share holds a place, and where in it? Divide by the length of a saved share. Go on until your share
# is full, or the vector ends.
# </details>

# %% [markdown]
# `torch.distributed.checkpoint` (DCP) plans the same for each tensor of a model that `fully_shard` split. Each rank
# writes one file. The file `.metadata` lists which part of which tensor is where; from it, a loading rank computes
# which saved parts overlap its own. It loads each of these whole, and cuts it. `get_state_dict` names the optimizer's
# state by the weights, not by their number, so that it fits another layout too. The next cell trains on four ranks,
# and loads on two.

# %% tags=["given"]
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

from grader import run_ranks


def train_group(model, optimizer, draw):
    inputs = torch.randn(8, 10, generator=draw)
    optimizer.zero_grad()
    F.mse_loss(model(inputs), inputs[:, :1]).backward()
    optimizer.step()


# %%
def train_sharded(rank, folder, updates, is_resumed):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(30, 1))
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    if is_resumed:
        weights, moments = get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    draw = torch.Generator().manual_seed(1 + is_resumed)
    for _ in range(updates):
        train_group(model, optimizer, draw)
    if not is_resumed:
        weights, moments = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=folder)
    held = sum(weight.to_local().numel() for weight in model.parameters())
    return held, torch.cat([weight.full_tensor().detach().flatten() for weight in model.parameters()])


# %%
with tempfile.TemporaryDirectory() as folder:
    saved = run_ranks(train_sharded, 4, folder=folder, updates=5, is_resumed=False).returned
    print(f"4 ranks hold {[held for held, _ in saved]} weights and write {sorted(os.listdir(folder))}")
    for updates in (0, 5):
        four, two = (
            run_ranks(train_sharded, ranks, folder=folder, updates=updates, is_resumed=True).returned
            for ranks in (4, 2)
        )
        difference = (four[0][1] - two[0][1]).abs().max()
        print(f"{updates} updates later, 2 ranks hold {[held for held, _ in two]}, off by at most {difference:.1e}")

# %% [markdown]
# Every rank trains on the same batch here. With data of their own, the ranks would also have to divide the rest of the
# epoch again: the *place* in the data is counted in rows, not in batches per rank.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why does a run whose warm-up is over need its scheduler?</summary>
# A new scheduler counts from 0, and would warm up again.
# </details>
# <details><summary>What do flush, fsync and replace each guarantee?</summary>
# The system has the bytes; the disk has the bytes; the name changes in one step.
# </details>
# <details><summary>Which state of the shuffling generator does a checkpoint within an epoch need?</summary>
# The one from before this epoch's order was drawn, together with the place; or the order itself and the present state.
# </details>
#
# **Takeaway: a checkpoint holds whatever decides a later update, and it replaces the old one in one step.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 25, the capstone.

# %% [markdown]
# **Sources**
# - [Llama team, The Llama 3 Herd of Models][llama]: 419 unexpected interruptions in 54 days.
# - [PyTorch, Saving and loading a general checkpoint][general] and [Reproducibility][reproducibility].
# - [Pillai et al., All File Systems Are Not Created Equal][crash]: what a rename and `fsync` guarantee.
# - [Accelerate, Checkpointing][accelerate] and [Transformers, Trainer][trainer].
# - [Young, A First Order Approximation to the Optimum Checkpoint Interval][young].
# - [PyTorch, Distributed Checkpoint][dcp], [torchdata, StatefulDataLoader][stateful] and [torchrun][torchrun].
# - [Chowdhery et al., PaLM][palm]: going back before a loss spike.
#
# [llama]: https://arxiv.org/abs/2407.21783
# [general]: https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html
# [reproducibility]: https://docs.pytorch.org/docs/stable/notes/randomness.html
# [crash]: https://www.usenix.org/conference/osdi14/technical-sessions/presentation/pillai
# [accelerate]: https://huggingface.co/docs/accelerate/usage_guides/checkpoint
# [trainer]: https://huggingface.co/docs/transformers/main_classes/trainer
# [young]: https://doi.org/10.1145/361147.361115
# [dcp]: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
# [stateful]: https://meta-pytorch.org/data/main/torchdata.stateful_dataloader.html
# [torchrun]: https://docs.pytorch.org/docs/stable/elastic/run.html
# [palm]: https://arxiv.org/abs/2204.02311
