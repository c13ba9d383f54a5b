# %% [markdown]
# # 11. Data loading
#
# You stop computing on padding, and you know which rank each row goes to.
#
# 60 min (estimated) · CPU is enough · after lesson 10

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - compute how much of a batch is padding, for four ways of making batches;
# - write a batch sampler that groups rows by length, shuffles, and drops nothing;
# - pack texts into one sequence so that the model computes what it would compute for each text alone;
# - give two ranks the same batches in raw PyTorch, with Accelerate and with the Trainer.

# %% tags=["given"]
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from grader import device_name, lesson_device, look, make_row_lengths, make_transformer

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 10: what does the trace of a run that waits for data look like?</summary>
# The device computes in short blocks with gaps between the steps, and each gap ends when a batch arrives.
# </details>
# <details><summary>Lesson 08: why does 8-bit Adam keep a scale for each block, instead of one for the whole
# tensor?</summary>
# A single outlier would set the scale of all numbers, and small ones would be rounded to a few codes.
# </details>

# %% [markdown]
# **The problem.** A batch is a rectangle, but texts have unequal lengths. So rows are padded, and the model computes on
# padding as it does on tokens. Here are 256 texts of at most 128 tokens; most are short, as in many data sets. How much
# of the work is wasted if every row is padded to 128?

# %%
lengths = make_row_lengths(256, 128)
print("the first lengths:", lengths[:12])
print(f"tokens: {sum(lengths):,} of {256 * 128:,} positions, so {1 - sum(lengths) / (256 * 128):.0%} is padding")

# %% [markdown]
# ## Predict: how much of four kinds of batches is padding
#
# | batches | how they are made |
# |---|---|
# | `"fixed"` | `rows` rows each, every row padded to `time` |
# | `"dynamic"` | `rows` rows each in the order of the data; a batch is as wide as its longest row |
# | `"bucketed"` | the same, but all rows are sorted first, the longest first |
# | `"packed"` | texts share sequences of `time` positions, by *first-fit decreasing* |
#
# First-fit decreasing takes the texts in order of length, the longest first. Each text goes as a whole into the first
# sequence that has room for it; if none has, it opens a new one.

# %% [markdown]
# **Exercise.** Write the function that says how many positions hold no token.
#
# *Contract.*
# - `lengths` holds the number of tokens of each row; none exceeds `time`. The last batch may have fewer rows than
#   `rows`.
# - Return a dict with the keys of the table. Each value counts the positions without a token, over all rows or all
#   packed sequences.
#
# For lengths 5, 3, 8, 2, 6, 3, 7, 4, 2, with `rows=4` and `time=8`, the answers are 32, 22, 10 and 8.

# %% tags=["given"]
from grader import check_padding_tokens


# %% exercise="padding_tokens"
def padding_tokens(lengths: list[int], rows: int, time: int) -> dict[str, int]:
    """Padding of fixed, dynamic, bucketed and packed batches.

    Args:
        lengths: Tokens of each row, in the order of the data.
        rows: Rows of a batch.
        time: Width of fixed batches and of packed sequences.

    Returns:
        Positions without a token, with the keys "fixed", "dynamic", "bucketed" and "packed".
    """

    ### BEGIN SOLUTION
    def positions(ordered):
        batches = [ordered[start : start + rows] for start in range(0, len(ordered), rows)]
        return sum(len(batch) * max(batch) for batch in batches)

    longest_first = sorted(lengths, reverse=True)
    rooms = []
    for length in longest_first:
        place = next((at for at, room in enumerate(rooms) if room >= length), len(rooms))
        if place == len(rooms):
            rooms.append(time)
        rooms[place] -= length
    padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
    padding |= {"dynamic": positions(lengths) - sum(lengths)}
    return padding | {"bucketed": positions(longest_first) - sum(lengths)}
    ### END SOLUTION


# %%
def show_padding():
    print(f"{'rows':>4}" + "".join(f"{name:>10}" for name in ("fixed", "dynamic", "bucketed", "packed")))
    for rows in (1, 4, 16, 64):
        padding = padding_tokens(lengths, rows, 128)
        shares = [count / (count + sum(lengths)) for count in padding.values()]
        shares = {name: share for name, share in zip(padding, shares, strict=True)}
        print(f"{rows:>4}" + "".join(f"{shares[name]:>10.0%}" for name in ("fixed", "dynamic", "bucketed", "packed")))


look(show_padding)

# %% check="check_padding_tokens" points=2
check_padding_tokens(padding_tokens)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: count positions, and subtract the tokens. Which of the four depend on the order of the data?<br>
# Then: for packing, keep a list of the room that is left in each sequence.
# </details>

# %% [markdown]
# Here are 24 other texts of at most 32 tokens, in batches of 8 rows. A device computes the whole area, hatched or not.
# Which panel would grow if a single text of 32 tokens were added at the end of the data, and by how much?

# %%
from grader import draw_batches

few = make_row_lengths(24, 32, seed=1)


def cut(ordered):
    return [[[length] for length in ordered[start : start + 8]] for start in range(0, len(ordered), 8)]


kinds = {"fixed": cut(few), "dynamic": cut(few), "bucketed": cut(sorted(few, reverse=True))}
kinds["packed"] = [
    [[27, 5], [20, 12], [20, 10], [20, 8, 4], [19, 8, 5], [19, 8, 4], [17, 15], [16, 7, 6, 3]],
    [[6, 4, 4]],
]
assert sorted(few) == sorted(length for batch in kinds["packed"] for row in batch for length in row)
draw_batches(kinds, title="24 texts, batches of 8 rows", widths={"fixed": 32, "packed": 32})

# %% [markdown]
# In *dynamic*, the longest row sets the width for all others of its batch. In *bucketed*, long rows share that price,
# and the batch of short texts is narrow. In *packed*, padding is left only where nothing fits.
#
# <details><summary>Answer</summary>
# All four. Fixed, dynamic and packed grow by the 32 positions of one row without padding. Bucketed grows by 51: the
# new text comes first, widens the first batch to 32, and moves one row from each batch into the next.
# </details>

# %% [markdown]
# **Investigate.** The table shows padding as a share of all positions. Dynamic padding helps little with large batches,
# because one long row widens the whole batch, and with 64 rows every batch contains one. Sorting helps
# wherever a batch has more than one row. Packing wastes 2 % here and does not depend on the batch size.
#
# This share describes linear layers, whose work is proportional to positions. Attention compares pairs of positions, so
# there a row of 10 tokens padded to 128 costs 164 times what it needs.

# %% [markdown]
# **Modify.** Replace `lengths` by rows of equal length. Which columns change?
#
# <details><summary>Answer</summary>
# Dynamic and bucketed batches then waste nothing. Packing wastes in each full sequence the remainder of `time` divided
# by the length, and more in the last sequence if it is not full.
# </details>

# %% [markdown]
# ## Complete: batches of similar length, in random order
#
# Sorting everything has a price: each epoch has the same batches, from the longest to the shortest, and a gradient over
# rows of one length is a poor sample of the data. The usual compromise shuffles twice:
#
# 1. shuffle all rows, and cut the order into **pools** of `pool` batches;
# 2. sort each pool by length, and cut it into batches;
# 3. shuffle the batches.
#
# Larger pools waste less and mix less.

# %% [markdown]
# Every rank runs this code on its own, yet all ranks must arrive at the same batches. So the order may depend on `seed`
# and `epoch` and on nothing else. The global random state will not do, because it depends on what the rank has drawn
# before, for instance for dropout.

# %% [markdown]
# **Exercise.** Complete the sampler.
#
# *Contract.*
# - Each row number is in exactly one batch. Every batch has `rows` rows, except one if the number of rows is not a
#   multiple of `rows`.
# - A pool has `pool * rows` rows, except the last one. Each pool is sorted on its own, so that its batches contain rows
#   of similar length.
# - The batches come in random order; the widest may come first, and a short one last.
# - All random numbers depend on `seed` and `epoch` alone, as those of `draw` do. Leave `lengths` as it is.

# %% tags=["given"]
from grader import check_bucket_batches


# %% exercise="bucket_batches"
def bucket_batches(lengths: list[int], rows: int, pool: int, seed: int, epoch: int) -> list[list[int]]:
    """Batches of rows of similar length for one epoch.

    Args:
        lengths: Tokens of each row.
        rows: Rows of a batch.
        pool: Batches that are cut from one sorted pool.
        seed: Seed of the run.
        epoch: Number of the epoch.

    Returns:
        The row numbers of each batch.
    """
    draw = random.Random(f"{seed} {epoch}")  # a generator of its own: the same numbers on every rank
    batches = []
    ### BEGIN SOLUTION
    order = list(range(len(lengths)))
    draw.shuffle(order)
    for start in range(0, len(order), pool * rows):
        near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
        batches += [near[first : first + rows] for first in range(0, len(near), rows)]
    draw.shuffle(batches)
    ### END SOLUTION
    return batches


# %%
def show_pools():
    for pool in (1, 2, 4, 8, 16):
        batches = bucket_batches(lengths, 16, pool, seed=0, epoch=0)
        widths = [max(lengths[row] for row in batch) for batch in batches]
        positions = sum(len(batch) * width for batch, width in zip(batches, widths, strict=True))
        print(f"pool {pool:>2}: {1 - sum(lengths) / positions:>4.0%} padding, widths {widths[:8]}")


look(show_pools)

# %% check="check_bucket_batches" points=2
check_bucket_batches(bucket_batches)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what do you sort, lengths or row numbers? `sorted` takes a `key`.<br>
# Then: if you sort before you shuffle, which batches contain different rows in the next epoch?
# </details>

# %% [markdown]
# `DataLoader(dataset, batch_sampler=...)` accepts such batches. It calls `iter` on them at the start of each epoch, so
# a sampler is often a small class with `__iter__`, `__len__` and `set_epoch`.
#
# <details><summary>Explain in one sentence: what would be wrong with leaving out the short batch, as `drop_last=True`
# does in a plain loader?</summary>
# It holds the longest rows of the last pool, or the shortest if these come last, so the model would see such rows less
# often than others.
# </details>

# %% [markdown]
# ## Write: pack texts into one sequence
#
# Packing puts several texts into one row. Three things keep them apart:
#
# - **positions** start at 0 again with each text;
# - the **mask** is block-diagonal: a token attends only to its own text, and there to itself and earlier tokens;
# - the **targets** (labels, here already shifted by one) end at the border: the last token of a text predicts nothing.
#
# What happens if you leave them out? The cell compares the logits of three texts in one row with those of each text
# alone.

# %%
model = make_transformer(2, 32, 4, vocabulary=50, context=32).to(device).eval()
for parameter in model.parameters():
    parameter.data.mul_(8 if parameter.dim() > 1 else 1)  # so that neighbours matter, as in a trained model
texts = [torch.randint(1, 50, (length,), generator=torch.Generator().manual_seed(length)) for length in (5, 3, 4)]
texts = [text.to(device) for text in texts]
alone = torch.cat([model(text[None])[0] for text in texts])
joined = model(torch.cat(texts)[None])[0]
for number, (found, wanted) in enumerate(zip(joined.split([5, 3, 4]), alone.split([5, 3, 4]), strict=True)):
    print(f"text {number}: logits up to {(found - wanted).abs().max():.1g} from those of the text alone")

# %% [markdown]
# The first text is right, since causal attention never looks ahead, so a test with a single text would miss the fault.
# The other two read texts that have nothing to do with them. No error is raised: the model trains, but on the wrong
# context.

# %% [markdown]
# **Exercise.** Pack `rows` into one sequence of `time` positions.
#
# *Contract.* `rows` are tensors of token numbers, 0 among them, at most `time` in total. Return, on their device:
# - `tokens` [time]: the rows in order, without gaps;
# - `positions` [time];
# - `mask` [time, time], bool: True where a position (row) may attend to another (column);
# - `targets` [time]: the token to predict, -100 where there is none.
#
# Positions left over at the end have token 0, position 0 and target -100. Each attends only to itself, because
# attending to nothing gives NaN.

# %% tags=["given"]
from grader import check_packed_rows


# %% exercise="pack_rows"
def pack_rows(rows: list[torch.Tensor], time: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pack texts into one sequence in which each is on its own.

    Args:
        rows: Token numbers of each text, int64.
        time: Positions of the sequence.

    Returns:
        tokens [time], positions [time], mask [time, time] and targets [time].
    """
    ### BEGIN SOLUTION
    tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))
    positions, targets = torch.zeros_like(tokens), torch.full_like(tokens, -100)
    mask = torch.eye(time, dtype=torch.bool, device=tokens.device)  # padding attends to itself
    start = 0
    for row in rows:
        end = start + len(row)
        positions[start:end] = torch.arange(len(row))
        mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril()
        targets[start : end - 1] = row[1:]
        start = end
    return tokens, positions, mask, targets
    ### END SOLUTION


# %%
def show_packed():
    tokens, positions, mask, targets = pack_rows(texts, 14)
    packed = model(tokens[None], positions, mask)[0]
    for name, values in (("tokens", tokens), ("positions", positions), ("targets", targets)):
        print(f"{name:<10}" + "".join(f"{value:>5}" for value in values.tolist()))
    print(f"logits up to {(packed[:12] - alone).abs().max():.0e} from those of each text alone")


look(show_packed)

# %% check="check_packed_rows" points=3
check_packed_rows(pack_rows)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw tokens, positions and targets for texts of 3 and 2 tokens by hand, one below the other.<br>
# Then: if each position knows the number of its text, the mask is one comparison and one triangle.
# </details>

# %% [markdown]
# A mask of `time` x `time` is correct, but the blocks outside the diagonal are computed and thrown away.
# *Variable-length* kernels skip them: they take the borders of the texts (`cu_seqlens`) instead of a mask (lesson 12).
#
# **Investigate.** `DataCollatorWithFlattening` of transformers packs a batch: it returns one row, positions that
# restart, and -100 at the first label of each text. (Labels have the same indices as inputs; the model shifts them
# later.) It makes no mask. Who does?


# %%
from transformers import AutoModelForCausalLM, DataCollatorWithFlattening, LlamaConfig

with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    llama = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
for parameter in llama.parameters():
    parameter.data.mul_(5 if parameter.dim() > 1 else 1)
flat = DataCollatorWithFlattening()([{"input_ids": text.tolist()} for text in texts])
each = torch.cat([llama(text[None].cpu()).logits[0] for text in texts])
ones = torch.ones_like(flat["input_ids"])
calls = {"as it comes": {}, "use_cache=False": {"use_cache": False}}
calls |= {"use_cache=False and a mask of ones": {"use_cache": False, "attention_mask": ones}}
for name, options in calls.items():
    logits = llama(**flat, **options).logits[0]
    print(f"{name:<36} logits up to {(logits - each).abs().max():.0e} from those of each text alone")

# %% [markdown]
# With SDPA, this version of transformers looks for restarting positions and builds the block-diagonal mask by itself,
# **but only without a key-value cache and without an `attention_mask`**. If you call the model in a loop of your own,
# the cache is on by default, and the texts are mixed without a warning. The Trainer turns the cache off
# (`use_cache=False` in `TrainingArguments`).
#
# So test your model and your version as above: pack two texts, and compare the logits of the *second*.

# %% [markdown]
# ## Forms: the same batches on several ranks
#
# `accelerator.prepare(loader)` deals out what the batch sampler yields, one batch to each rank in turn. Its options
# matter at the end of the data, and for batches of unequal sizes. The cell deals out 10 rows to 2 ranks. Before you run
# it: which rows come twice?

# %% tags=["given"]
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader

from grader import look_at_ranks, run_ranks


# %%
def show_rows(rank):
    from torch.utils.data import BatchSampler

    sizes = BatchSampler(range(0), 4, drop_last=False)  # has a batch_size, as split_batches wants it
    sizes.sampler, uneven = range(10), [[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]]
    for name, options, batches in (
        ("prepare", {}, sizes),
        ("even_batches=False", {"even_batches": False}, sizes),
        ("split_batches=True", {"split_batches": True}, sizes),
        ("dispatch_batches=True", {"dispatch_batches": True}, sizes),
        ("batches of unequal sizes", {}, uneven),
    ):
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))
        loader = accelerator.prepare(DataLoader(range(10), batch_sampler=batches))
        print(f"{name:<24} {[batch.tolist() for batch in loader]}")


run = run_ranks(show_rows, 2)

# %% [markdown]
# - **prepare** fills up the end with rows from the start, so that all ranks make equally many updates (`even_batches`).
#   Those rows count twice. If the batches come as a list without a `batch_size`, no rows are filled in, but a whole
#   batch is repeated.
# - **even_batches=False** repeats nothing. A rank that gets no batch leaves the others waiting in their all-reduce.
# - **split_batches** cuts each batch into one part per rank, and also fills up the last one.
# - **dispatch_batches** lets rank 0 read for all ranks and sends the rows on, for streams that only one process can
#   read. It concatenates the batches of the ranks, so they must be equally wide.

# %% [markdown]
# One trap is silent. `split_batches` expects batches of `batch_size` rows and skips batches of any other size; only the
# last one may be shorter.


# %%
def show_lost(rank):
    class Unequal(list):
        batch_size, drop_last = 4, False  # what split_batches asks for

    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=True))
    batches = Unequal([[0, 1, 2, 3], [4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15]])
    loader = accelerator.prepare(DataLoader(range(16), batch_sampler=batches))
    print([batch.tolist() for batch in loader])


run = run_ranks(show_lost, 2)

# %% [markdown]
# Rows 4 to 11 are gone. Yet batches of unequal sizes are exactly what you get when each batch holds about the same
# number of *tokens*.
#
# So take control of the split: cut each batch into shares yourself, and let the library deal out the shares. Within a
# batch, rows are sorted by length, so `batch[rank::world_size]` gives all ranks nearly equal work. If you cut it into
# halves, one rank would get all the long rows, and the other would wait for it.

# %% [markdown]
# | | raw | Accelerate | Trainer |
# |---|---|---|---|
# | batches | your loop | `DataLoader(batch_sampler=...)` | override `get_train_dataloader` |
# | deal out | `batch[rank::world_size]` | `prepare(loader)` | `self.accelerator.prepare(loader)` |
# | pad | `collate(rows)` | `collate_fn=` | `data_collator=` |
# | group by length | your sampler | your sampler | `train_sampling_strategy="group_by_length"` |
#
# The Trainer's own grouping shuffles, sorts pools of up to 50 batches, and does *not* shuffle the batches of a pool.
# Its newer strategy `"batch_rebalance"` also balances the work of the ranks. In Transformers 4, the first was
# `group_by_length=True`.

# %% tags=["given"]
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, plain_trainer_arguments, tokenize_pairs

same_run = plain_trainer_arguments("cpu")


def train_raw(model, dataset, batches, collate, learning_rate):
    """The raw form: each rank takes its share of each batch."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    replica = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for batch in batches:
        rows = collate([dataset[row] for row in batch[rank::world_size]])
        replica(**rows).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% [markdown]
# **Exercise.** Write the two other forms, so that each does what `train_raw` does.
#
# *Contract.*
# - Every rank calls your function with the same arguments. In update `u`, rank `r` runs `batches[u][r::world_size]`,
#   padded by `collate` to the longest of these rows. Sizes of batches differ, but each is a multiple of `world_size`.
# - The optimizer is SGD with `learning_rate`.
# - With Accelerate, prepare the model and call `accelerator.backward`. With the Trainer, call `Trainer.train`;
#   `same_run` holds all other arguments, `optim="sgd"` included: add `learning_rate`.
#
# The checks use 2 and 3 ranks. They compare the rows and width of each forward pass, gradients and weights.

# %% tags=["given"]
from grader import check_batches_accelerate, check_batches_trainer


# %% exercise="train_batches_with_accelerate"
def train_batches_with_accelerate(model, dataset, batches: list[list[int]], collate, learning_rate: float) -> None:
    """Train on this rank with Accelerate, equal to train_raw.

    Args:
        model: Returns an output with .loss.
        dataset: Rows with lists of unequal lengths.
        batches: Row numbers of each update, on all ranks together.
        collate: Makes padded tensors of a list of rows.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator(cpu=True)
    ranks = accelerator.num_processes
    shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
    loader = DataLoader(dataset, batch_sampler=shares, collate_fn=collate)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for rows in loader:
        accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_batches_with_trainer"
def train_batches_with_trainer(model, dataset, batches: list[list[int]], collate, learning_rate: float) -> None:
    """Train on this rank with the Trainer, equal to train_raw.

    Args:
        model: Returns an output with .loss; has accepts_loss_kwargs = False.
        dataset: Rows with lists of unequal lengths.
        batches: Row numbers of each update, on all ranks together.
        collate: Makes padded tensors of a list of rows.
        learning_rate: Of SGD, constant.
    """

    ### BEGIN SOLUTION
    class BatchTrainer(Trainer):
        def get_train_dataloader(self):
            ranks = self.args.world_size
            shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
            loader = DataLoader(self.train_dataset, batch_sampler=shares, collate_fn=self.data_collator)
            return self.accelerator.prepare(loader)

    arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
    BatchTrainer(model, arguments, train_dataset=dataset, data_collator=collate).train()
    ### END SOLUTION


# %%
def run_form(rank, train):
    """Train on 48 pairs, 8 for an update; return the weights, the positions computed and the seconds."""
    import time

    dataset = tokenize_pairs(make_sentence_pairs(pairs=48), make_tokenizer(), is_padded=False)
    order = sorted(range(48), key=lambda row: -len(dataset[row]["input_ids"]))
    batches = [order[start : start + 8] for start in range(0, 48, 8)]
    model, positions = make_pair_classifier(), []
    model.accepts_loss_kwargs = False
    model.register_forward_pre_hook(
        lambda _, __, inputs: positions.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    started = time.perf_counter()
    train(model, dataset, batches, DataCollatorWithPadding(make_tokenizer()), 0.1)
    weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    return weights, sum(positions), time.perf_counter() - started


# %%
forms = {"raw": train_raw, "Accelerate": train_batches_with_accelerate, "Trainer": train_batches_with_trainer}
alone, _, _ = run_ranks(run_form, 1, train=train_raw).returned[0]
print(f"{'on 2 ranks':<12} {'distance from one process':>26} {'positions on each rank':>24} {'time':>8}")
for name, train in forms.items():
    run = look_at_ranks(run_form, 2, train=train)
    if run:
        distance = float((run.returned[0][0] - alone).norm() / alone.norm())
        positions = [positions for _, positions, _ in run.returned]
        print(f"{name:<12} {distance:>26.1e} {positions!s:>24} {run.returned[0][2]:>6.2f} s")

# %% check="check_batches_accelerate" points=2 tags=["needs-loopback"]
check_batches_accelerate(train_batches_with_accelerate)

# %% check="check_batches_trainer" points=2 tags=["needs-loopback"]
check_batches_trainer(train_batches_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: a prepared loader deals out one entry of the batch sampler to each rank in turn. What must an entry
# contain?<br>
# Then: print `[batch["input_ids"].shape for batch in loader]` on each rank, in `look_at_ranks`.
# </details>

# %% [markdown]
# **The price.** Positions that are not computed save time. They save memory only if the *widest* batch shrinks, because
# that batch sets the peak. The cell trains on 64 of the texts in four ways, and times the epochs alternately. Packed
# batches have 4 sequences, which hold about as many tokens as 16 rows. (They have the shape of packed batches without
# any gap; a real run has a few gaps, and adds the mask.)

# %%
from grader import format_bytes, measure_peak_memory, measure_step_time

some = sorted(lengths[:64], reverse=True)
starts = range(0, 64, 16)
shapes = {"fixed": [(16, 128)] * 4}  # rows and positions of each batch
shapes |= {"dynamic": [(16, max(lengths[start : start + 16])) for start in starts]}
shapes |= {"bucketed": [(16, some[start]) for start in starts], "packed": [(4, 128)] * -(-sum(some) // 512)}
trained = make_transformer(2, 64, 4, vocabulary=256).to(device)


def make_epoch(name):
    def epoch():
        for shape in shapes[name]:
            trained(torch.ones(shape, dtype=torch.int64, device=device)).square().mean().backward()
            trained.zero_grad()

    epoch.__name__ = name
    return epoch


# %%
epochs = [make_epoch(name) for name in shapes]
for epoch in epochs:
    positions = sum(rows * time for rows, time in shapes[epoch.__name__])
    peak_bytes = measure_peak_memory(epoch, model=trained).peak_bytes
    print(f"{epoch.__name__:<9} {positions:>6,} positions, peak {format_bytes(peak_bytes)}")
print(measure_step_time(*epochs, run_count=3, warm_up_count=1))

# %% [markdown]
# - **Use it when** lengths vary: bucket for classifiers, pack for language models.
# - **Do not** pack when the attention in use ignores the borders (test it), or when the loss averages over texts.
# - **Combine with** accumulation by *tokens* (lesson 02; packed batches hold unequal numbers of targets),
#   variable-length attention (lesson 12), and padding to a multiple of 8 or 64 where tile sizes ask for it (lesson 10).

# %% [markdown] tags=["further"]
# ## Further: how many workers?
#
# With `num_workers=0`, a `DataLoader` prepares each batch in the training process, while the device waits. With `W`
# workers, separate processes prepare batches ahead, two each by default (`prefetch_factor`). **If the device is busy
# for much less than 100 % of the time, the usual reason is too few workers**; a slow disk or too few cores are others.
#
# Here is the start of a log, without step 0, in which the workers start (the totals include it). What is wrong, and how
# many workers would you use?

# %%
from grader import loader_log

log = loader_log()
busy = sum(log.busy_seconds) / (sum(log.busy_seconds) + sum(log.wait_seconds))
print(f"{log.workers} workers, {log.cores} cores; the device is busy {busy:.0%} of the time")
print("step  waits, ms  computes, ms")
for step in range(1, 9):
    print(f"{step:>4} {1e3 * log.wait_seconds[step]:>10.0f} {1e3 * log.busy_seconds[step]:>13.0f}")

# %% [markdown]
# Batches come in bursts: two workers finish at nearly the same time, and then both start again. So the median wait is
# either near 0 or near the longest wait, and says little. Use totals.
#
# **Exercise.** Find out from a log how many workers keep the device busy.
#
# *Contract.*
# - `log` has `workers`, `cores`, and the lists `wait_seconds` and `busy_seconds` with one entry for each step.
# - Return the smallest number of workers with which the device does not wait, or `cores` if that would take more.
# - If it waits for less than 5 % of the whole time, return `log.workers`.

# %% tags=["given"]
from grader import check_workers_needed


# %% exercise="workers_needed"
def workers_needed(log) -> int:
    """Smallest number of workers that keep the device busy.

    Args:
        log: A recorded run with workers, cores, wait_seconds and busy_seconds.

    Returns:
        The number of workers.
    """
    ### BEGIN SOLUTION
    wait, busy = sum(log.wait_seconds), sum(log.busy_seconds)
    if wait < 0.05 * (wait + busy):
        return log.workers
    preparing = log.workers * (wait + busy) if log.workers else wait  # of all batches, by one worker
    return min(log.cores, -int(-preparing // busy))
    ### END SOLUTION


# %%
def show_workers():
    print("workers for the log above:", workers_needed(log))


look(show_workers)

# %% check="check_workers_needed" points=1
check_workers_needed(workers_needed)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: `W` workers prepare batches while the device waits. How many batches do they finish in the time of one
# step?<br>
# Then: without workers, which part of the step is spent on preparing the batch?
# </details>

# %% [markdown]
# **Seeds of workers.** Each worker has a copy of the data set. PyTorch seeds `torch`, `random` and the *global* state
# of NumPy differently in each worker. But a generator that the data set creates in its constructor is copied with the
# rest, so all workers draw the same augmentations. The cell makes two copies, as two workers would.


# %%
import copy

import numpy as np


class Augmented(torch.utils.data.Dataset):
    """Data whose augmentation is a random number."""

    def __init__(self):
        self.generator = np.random.default_rng(0)  # made once, and copied into each worker

    def __getitem__(self, row):
        return self.generator.integers(1000).item()


workers = [copy.deepcopy(Augmented()) for _ in range(2)]
print("draws of worker 0:", [workers[0][row] for row in (0, 2, 4)])
print("draws of worker 1:", [workers[1][row] for row in (1, 3, 5)])

# %% [markdown]
# The remedy is to create the generator in the worker: in `worker_init_fn`, from `torch.initial_seed()`. With
# `persistent_workers=True` the copies keep their state from epoch to epoch; without it, each epoch starts from fresh
# copies and repeats the same draws.
#
# **Pinned memory.** Host memory that cannot be paged out is copied to a GPU directly; other memory is first copied into
# a pinned buffer. So `pin_memory=True` makes copies faster by itself. `tensor.to(device, non_blocking=True)` adds
# something else: the copy overlaps with computation, and it needs pinned memory to do so.


# %%
def copy_to_device(host, is_overlapped):
    host.to(device, non_blocking=is_overlapped)


if device.type == "cuda":
    pageable = torch.zeros(2**24)
    pinned = pageable.pin_memory()
    print(measure_step_time(lambda: copy_to_device(pageable, False), lambda: copy_to_device(pinned, False)))
else:
    print("no CUDA device here: a copy within the host's memory has nothing to pin")

# %% [markdown]
# **Streams and resuming.** A stream (`load_dataset(..., streaming=True)`) has no length and no row numbers. It shuffles
# within a buffer, and its shards are dealt out to ranks and workers. To resume in the middle of an epoch you need a
# *stateful* loader. The cell reads 10 of 24 rows, saves the state of the stream, and continues from it.

# %%
from datasets import Dataset
from datasets.utils import logging

logging.set_verbosity_error()  # it warns of what the cell shows


def make_stream(is_shuffled):
    stream = Dataset.from_dict({"row": list(range(24))}).to_iterable_dataset(num_shards=3)
    return stream.shuffle(seed=0, buffer_size=6) if is_shuffled else stream


for is_shuffled in (False, True):
    stream = make_stream(is_shuffled)
    first = [example["row"] for _, example in zip(range(10), stream, strict=False)]
    resumed = make_stream(is_shuffled)
    resumed.load_state_dict(stream.state_dict())
    rest = [example["row"] for example in resumed]
    lost = sorted(set(range(24)) - set(first) - set(rest))
    print(f"shuffled: {is_shuffled}, rows lost: {lost}, rows twice: {sorted(set(first) & set(rest))}")

# %% [markdown]
# A state holds positions in shards, but not the contents of the shuffle buffer, so those rows are lost. A sampler that
# depends on `seed` and `epoch` alone needs no such state: make the batches again, and skip those that were already
# used. `torchdata` has a `StatefulDataLoader` that accounts for what its workers have prefetched; Accelerate uses it
# with `use_stateful_dataloader=True`. Lesson 24 resumes a whole run.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why does dynamic padding save less with larger batches?</summary>
# A batch is as wide as its longest row, and a large batch almost always contains a long one.
# </details>
# <details><summary>Which three things keep packed texts apart?</summary>
# Positions that restart, a block-diagonal mask, and targets that end at the border.
# </details>
# <details><summary>What do 2 ranks see of a prepared batch sampler?</summary>
# Its batches in turn: each rank sees every second one. At the end, rows or batches are repeated unless every rank gets
# equally many full batches.
# </details>
#
# **Takeaway: count positions and tokens; the difference is work that you need not do.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 12, attention.

# %% [markdown]
# **Sources**
# - [Efficient Sequence Packing without Cross-contamination][packing]: packing, its masks and first-fit algorithms.
# - [PyTorch, torch.utils.data][data]: workers, their seeds, pinned memory, batch samplers.
# - [Accelerate, data loaders][accelerate]: `even_batches`, `split_batches`, `dispatch_batches`.
# - [Transformers, data collators][collators]: `DataCollatorWithFlattening`.
# - [Datasets, streaming][stream]: what a state holds, and the shuffle buffer.
# - *Efficient Training on a Single GPU*, Hugging Face, version 4.30: watch the utilisation to choose the number of
#   workers.
#
# [packing]: https://arxiv.org/abs/2107.02027
# [data]: https://docs.pytorch.org/docs/stable/data.html
# [accelerate]: https://huggingface.co/docs/accelerate/package_reference/torch_wrappers
# [collators]: https://huggingface.co/docs/transformers/main_classes/data_collator
# [stream]: https://huggingface.co/docs/datasets/stream
