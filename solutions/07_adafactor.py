# %% [markdown]
# # 7. Adafactor
#
# You store the second moment of a matrix as its row and column means, and train with the Adafactor of two libraries.
#
# 60 min (estimated) · CPU is enough · after lesson 06

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict how many elements Adafactor's state has in two libraries, with and without momentum;
# - complete the factored second moment;
# - write Adafactor's step, with clipping and weight decay, so that it matches that of transformers over 20 steps;
# - train with exactly the Adafactor that you mean, from either library, with Accelerate and with the Trainer.

# %% tags=["given"]
import torch
from transformers.optimization import Adafactor

from grader import (
    MIB,
    check_adafactor_elements,
    device_name,
    draw_curves,
    format_bytes,
    lesson_device,
    look,
    make_chain,
    optimizer_state_bytes,
    optimizer_state_elements,
)

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>What does AdamW keep for each tensor?</summary>
# Two moments of the tensor's shape, and one step count.
# </details>
# <details><summary>Which has the larger range, float16 or bfloat16, and which the finer spacing?</summary>
# bfloat16 has the larger range, float16 the finer spacing.
# </details>

# %% [markdown]
# **The problem.** One matrix of DistilBERT has 768 x 3,072 = 2,359,296 numbers. AdamW keeps two moments of that size,
# which take 18 MiB for this one matrix.
#
# Adafactor keeps only 768 + 3,072 = 3,840 numbers for it, or 15 KiB, and no first moment. Yet it still divides each
# number of the gradient by a root of its own. How can 3,840 numbers represent 2.4 million?

# %% [markdown]
# ## Rows and columns
#
# Here is a small matrix of squared gradients. Its second row is twice the first, so it has *rank one*. Before you run
# the cell: by what factor is the product of row mean and column mean too large?

# %%
squares = torch.tensor([[1.0, 2.0, 6.0], [2.0, 4.0, 12.0]])
row_means, column_means = squares.mean(dim=1), squares.mean(dim=0)
product = torch.outer(row_means, column_means)
print("squares                ", squares.tolist())
print("row means, column means", row_means.tolist(), column_means.tolist())
print("product                ", product.tolist())
print("mean of all squares    ", squares.mean().item())
print("product / mean of all  ", (product / squares.mean()).tolist())

# %% [markdown]
# The product is 4.5 times too large, and 4.5 is the mean of all squares. Every row mean contains this mean as a factor,
# and so does every column mean. Their product therefore contains it twice, and must be divided by it once:
#
# `V = row means x column means / mean of the row means`
#
# The mean of the row means *is* the mean of all squares. With sums, the formula reads
# `V = row sums x column sums / sum of the row sums`. A published slide multiplies the two sums but omits the division,
# which makes the result 27 times too large here.
#
# For a matrix of rank one, `V` is exact. The squares of real gradients have a higher rank. Before you run the next
# cell: does the error keep growing with the rank?


# %%
def estimate(squares):
    rows, columns = squares.mean(dim=1, keepdim=True), squares.mean(dim=0, keepdim=True)
    return rows * columns / rows.mean()


def relative_error(guess, squares):
    return float(torch.linalg.vector_norm(guess - squares) / torch.linalg.vector_norm(squares))


torch.manual_seed(0)
ranks = [1, 2, 4, 8, 16, 32, 64]
errors = {"rows and columns": [], "one mean for all": []}
for rank in ranks:
    squares = torch.rand(64, rank).square() @ torch.rand(rank, 64).square()
    errors["rows and columns"].append(relative_error(estimate(squares), squares))
    errors["one mean for all"].append(relative_error(squares.mean(), squares))
draw_curves(ranks, errors, title="Error of the estimate, 64 x 64 squares", x_label="rank", y_label="relative error")

# %% [markdown]
# No. At rank one only rounding error remains, and at rank four the error is at its largest here. As more random terms
# are added, the squares become more alike, so that in the end even one mean for all of them is not far off. Rows and
# columns are closer at every rank.
#
# The estimate is therefore good where whole rows or columns differ in size: the row of a rare token in an embedding, or
# a feature with large inputs. Next, consider a single large number in a matrix of ones. Before you run the cell: which
# numbers are estimated too large, and which too small?

# %%
spike = torch.ones(4, 4)
spike[1, 2] = 100.0
print(estimate(spike))

# %% [markdown]
# A single large number raises the means of its row and of its column. Its neighbours in both are therefore estimated
# 3.6 times too large, and all other numbers too small. The estimate of the large number itself stays near 100.

# %% [markdown]
# ## Predict: the elements of the state
#
# | tensor | its second moment is kept as |
# |---|---|
# | matrix `[rows, columns]` | row means and column means |
# | more dimensions | row means and column means of the last two dimensions, for each index of those before them |
# | one dimension, or a single number | the whole second moment |
#
# Both libraries count the steps of each tensor: PyTorch in a tensor, transformers in a Python `int`. Here each count is
# one element. In addition, transformers keeps the root mean square (*RMS*) of the weight, one number for each tensor.
#
# With `beta1`, transformers also keeps **momentum**: a running mean of the updates, in the tensor's shape. PyTorch's
# Adafactor has no momentum.

# %% [markdown]
# **Exercise.** Predict the number of elements in Adafactor's state.
#
# *Contract.*
# - `parameters` are the tensors that the optimizer receives; `library` is `"torch"`, `"transformers"` or
#   `"transformers with momentum"`.
# - Return the number of elements in the state after the first step, whatever their format. Frozen tensors have no
#   state.
# - The tensors have a shape but no values: compute the number without an optimizer, and change nothing.
#
# The check asks for the exact number on DistilBERT, on convolutions and stacks of matrices, on single rows, and with
# frozen tensors.


# %% exercise="predict_adafactor_elements"
def predict_adafactor_elements(parameters: list, library: str) -> int:
    """Elements that Adafactor keeps from step to step.

    Args:
        parameters: Tensors; each has .shape, .numel() and .requires_grad.
        library: "torch", "transformers" or "transformers with momentum".

    Returns:
        Elements of its state after the first step.
    """
    ### BEGIN SOLUTION
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            is_matrix = tensor.dim() > 1
            total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
    return total
    ### END SOLUTION


# %%
look(predict_adafactor_elements, [torch.nn.Parameter(torch.zeros(768, 3072))], "torch")

# %% check="check_adafactor_elements" points=2
check_adafactor_elements(predict_adafactor_elements)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: a tensor of 5 x 4 x 3 is five matrices of 4 x 3. How many row means does each of them have, and how many column
# means?<br>
# Then: all row means together have the tensor's shape without its last dimension. The column means lack the dimension
# before it instead.
# </details>

# %% [markdown]
# **Run.** Now measure DistilBERT, with 65,783,042 parameters in 104 tensors. For it, AdamW kept 131,566,188 elements,
# which take 501.89 MiB.

# %%
from grader import make_distilbert

with torch.device("meta"):  # shapes without values: the state depends on nothing else
    model = make_distilbert()
for parameter in model.to_empty(device="cpu").parameters():
    parameter.grad = torch.zeros_like(parameter)
as_the_trainer = {"lr": 2e-4, "relative_step": False, "scale_parameter": False}
makers = {"torch": torch.optim.Adafactor}
makers["transformers"] = lambda parameters: Adafactor(parameters, **as_the_trainer)
makers["transformers with momentum"] = lambda parameters: Adafactor(parameters, **as_the_trainer, beta1=0.9)
for name, make_optimizer in makers.items():
    optimizer = make_optimizer(model.parameters())
    optimizer.step()
    predicted = look(predict_adafactor_elements, list(model.parameters()), name)
    note = f"predicted {predicted:>10,}" if predicted is not None else ""
    kept = {key: type(value).__name__ for key, value in next(iter(optimizer.state.values())).items()}
    print(f"{name:<26} {optimizer_state_elements(optimizer):>10,} elements", end=" ")
    print(f"{optimizer_state_bytes(optimizer):>11,} bytes {optimizer_state_bytes(optimizer) / MIB:>6.2f} MiB  {note}")
    print(f"    the embedding's state: {kept}")
del model, optimizer, parameter

# %% [markdown]
# **Investigate.** Adafactor keeps 0.68 MiB instead of 501.89 MiB. Both libraries use the same 714,432 bytes, although
# transformers counts 104 elements more: the RMS of each of the 104 tensors. Its step counts are Python numbers, which
# take no tensor memory. PyTorch's step counts are tensors, and take as many bytes as the RMS values do.
#
# With momentum the state grows to 251.62 MiB, because it holds one number for each parameter again. A published guide
# says that Adafactor takes "slightly more than 4 bytes" for each parameter. That holds only with momentum, which
# neither transformers nor the Trainer uses by default.
#
# **Names.** *Factored second moment*: `exp_avg_sq_row` and `exp_avg_sq_col` in transformers, `row_var` and `col_var`
# in PyTorch.

# %% [markdown]
# **Modify.** `torch.nn.Linear(1, 768)` has a weight of 768 x 1. Before you run the cell: does Adafactor keep fewer
# numbers for it than its 768, as many, or more?

# %%
column = torch.nn.Linear(1, 768, bias=False)
column.weight.grad = torch.zeros_like(column.weight)
optimizer = torch.optim.Adafactor(column.parameters())
optimizer.step()
print({name: tuple(value.shape) for name, value in optimizer.state[column.weight].items()})
column.weight.grad = torch.zeros(768, 1).to_sparse()
for optimizer in (torch.optim.Adafactor(column.parameters()), Adafactor(column.parameters())):
    try:
        optimizer.step()
    except RuntimeError as error:
        print(f"{type(optimizer).__module__.partition('.')[0]}: {error}")

# %% [markdown]
# It keeps more: 768 row means and one column mean. Factoring pays off only where rows and columns are both long. The
# cell also shows that neither library accepts sparse gradients, which `torch.nn.Embedding(..., sparse=True)` makes.
#
# ## Complete: the factored second moment
#
# AdamW's second moment is a running mean with a constant decay, whose start needs a bias correction. Adafactor's decay
# grows with the step instead: `beta = 1 - step**-0.8`. The next cell works this out for the **whole** second moment.

# %% tags=["given"]
from grader import check_factored_moment


def whole_second_moment(gradient, state, decay_rate=-0.8, eps=1e-30):
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(gradient)}
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    state["mean"].mul_(beta).add_(gradient.square() + eps, alpha=1 - beta)
    return state["mean"].clone()


# %%
print("beta at steps 1, 2, 10, 40, 100, 1000:", *(f"{1 - step**-0.8:.3f}" for step in (1, 2, 10, 40, 100, 1000)))
state = {}
first = whole_second_moment(torch.tensor([3.0, 0.5]), state)
print("second moment after step 1:", first.tolist())
print("second moment after step 2:", whole_second_moment(torch.tensor([1.0, 0.5]), state).tolist())

# %% [markdown]
# At step 1, beta is 0: the mean *is* the first square, so there is no bias to correct. At later steps beta grows, so
# the mean forgets more slowly and averages over more and more steps.
#
# `eps` is added to every square. A gradient of zero then has a second moment of 1e-30, and 0 divided by its root is 0.
# However, 1e-30 times 1e-30 is 0 in float32, whose smallest positive number is about 1e-45. So **divide before you
# multiply**: divide the row means by their mean, then multiply by the column means.

# %% [markdown]
# **Exercise.** Complete the factored second moment. The state and beta are given.
#
# *Contract.*
# - The gradient is `[..., rows, columns]`, with two or more dimensions. Add `eps` to its squares.
# - With `beta`, keep running means of the squares' row means in `state["row"]` and of their column means in
#   `state["column"]`; sums or other names are accepted if the estimate is right.
# - Return the estimate `V` (no root) in the gradient's shape, each matrix divided by the mean of its own row means.
# - Do not change the gradient. Use no library's Adafactor.
#
# The check compares every number over 6 steps, with other decays and `eps`, zero gradients and nested stacks, and also
# the state's size.


# %% exercise="factored_second_moment"
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    """Take in a gradient, and estimate its second moment from row means and column means.

    Args:
        gradient: Tensor [..., rows, columns].
        state: Empty at the first step; what it holds comes back at the next one.
        decay_rate: The means forget with beta = 1 - step**decay_rate.
        eps: Added to each square.

    Returns:
        The estimate, [..., rows, columns].
    """
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    ### BEGIN SOLUTION
    state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
    return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
    ### END SOLUTION


# %%
def compare_moments():
    whole_state, factored_state = {}, {}
    for step in range(1, 4):
        gradient = step * torch.outer(torch.linspace(1, 2, 768), torch.linspace(-1, 3, 256))  # rank one
        whole = whole_second_moment(gradient, whole_state)
        error = relative_error(factored_second_moment(gradient, factored_state), whole)
        print(f"step {step}: relative error {error:.1e}")
    kept = factored_state["row"].numel() + factored_state["column"].numel()
    print(f"kept: {kept:,} numbers in place of {whole.numel():,}")


look(compare_moments)

# %% check="check_factored_moment" points=3
check_factored_moment(factored_second_moment)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the worked function keeps one running mean. Yours keeps two: of the means over dim -1 and of those over
# dim -2.<br>
# Then: a stack `[5, 4, 3]` has row means of shape `[5, 4]`. Which mean of them has the shape `[5, 1]`? `unsqueeze`
# turns the row means into a column of the product.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is the product divided by the mean of the row means?</summary>
# Each row mean and each column mean contains the mean of all squares as a factor, so their product contains it twice.
# </details>

# %% [markdown]
# ## Write: Adafactor
#
# The update is `gradient / root of V`. Its size is measured by its RMS, `square().mean().sqrt()`. Late in training beta
# is close to 1, so `V` consists almost entirely of old squares: at step 40, the new square has a weight of only 5 %. In
# the next cell, gradients are 10 times as large from step 40 on.


# %%
def update_sizes(threshold):
    """RMS of the update at each of 60 steps."""
    torch.manual_seed(0)
    state, sizes = {}, []
    for step in range(1, 61):
        gradient = torch.randn(32, 16) * (10.0 if step >= 40 else 1.0)
        update = gradient / whole_second_moment(gradient, state).sqrt()
        update /= max(1.0, update.square().mean().sqrt() / threshold)
        sizes.append(float(update.square().mean().sqrt()))
    return sizes


shown = list(range(36, 49))
sizes = {"not clipped": update_sizes(float("inf")), "clipped at 1": update_sizes(1.0)}
draw_curves(
    shown,
    {name: [values[step - 1] for step in shown] for name, values in sizes.items()},
    title="RMS of the update, gradients grow tenfold at step 40",
    x_label="step",
    y_label="RMS of the update",
)

# %% [markdown]
# Without clipping, the RMS of the update at step 40 is 3.5 times that of the update before it. **Update clipping**
# divides the update by `max(1, RMS(update) / clip_threshold)`. It differs from gradient clipping, which would shrink
# the gradient before it enters the means.
#
# `scale_parameter` takes the size of the weight into account: it multiplies the learning rate by
# `max(1e-3, RMS(weight))`. A matrix of numbers near 0.02 then moves by 2 % of `lr`. Without the lower bound of 1e-3,
# weights that are zero could never move.

# %% tags=["given"]
from grader import OwnOptimizer, check_adafactor_steps

options = {"eps": 1e-30, "decay_rate": -0.8, "clip_threshold": 1.0, "scale_parameter": False, "weight_decay": 0.0}
layer = torch.nn.Linear(3, 2).to(device)
groups = [{"params": [layer.weight], **options}, {"params": [layer.bias], **options, "scale_parameter": True}]
example = OwnOptimizer(lambda optimizer: None, groups, lr=1e-3)
for group in example.param_groups:
    print({name: value for name, value in group.items() if name != "params"}, [p.shape for p in group["params"]])
print(f"state of the first parameter: {example.state[layer.weight]}")

# %% [markdown]
# **Exercise.** Write Adafactor's step. `OwnOptimizer` is an optimizer whose step is a function that you write. Its
# `betas` are not used here.
#
# *Contract.* For each parameter of each group in `optimizer.param_groups`, in this order:
#
# 1. Without `.grad`, skip it and keep no state. Do not skip a gradient of zeros.
# 2. Increase its own step count, which is 1 at its first step; `beta = 1 - step**decay_rate`. `V` is the factored
#    second moment for two or more dimensions, else the running mean of the squares plus `eps`.
# 3. `update = gradient / root of V`, divided by `max(1, RMS(update) / clip_threshold)`.
# 4. `rate = lr`, with `scale_parameter` times `max(1e-3, RMS(weight))` of the weight before its decay.
# 5. Multiply the weight by `1 - rate * weight_decay`, then subtract `rate * update`.

# %% [markdown]
# *Contract, continued.*
# - Read each group's options at every step, and change none of them.
# - `optimizer.state[parameter]` is an empty dict at first. Keep the means, a count and at most three more numbers in
#   it.
# - Change parameters in place, and leave gradients as they are.
# - Write the step by hand; you may call your `factored_second_moment` once it has passed its check.
#
# The check compares the weights after each of 20 steps and the size of the state. Options change between steps, and
# some gradients are tiny, zero or missing.


# %% exercise="adafactor_step"
def adafactor_step(optimizer) -> None:
    """Take one step of Adafactor with all groups, by hand.

    Args:
        optimizer: Has `param_groups`, a list of dicts, and `state`, a dict for each parameter.
    """
    ### BEGIN SOLUTION
    for group in optimizer.param_groups:
        for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
            squares, state = weight.grad.square() + group["eps"], optimizer.state[weight]
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            state["step"] = state.get("step", 0) + 1
            kept = state.setdefault("means", [torch.zeros_like(mean) for mean in means])
            for old, new in zip(kept, means, strict=True):
                old.lerp_(new, state["step"] ** group["decay_rate"])
            second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
            update = weight.grad / second.sqrt()
            update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
            scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
            weight.mul_(1 - group["lr"] * scale * group["weight_decay"])
            weight.sub_(group["lr"] * scale * update)
    ### END SOLUTION


# %%
def compare_with_transformers():
    torch.manual_seed(0)
    start, gradients = torch.randn(6, 4), torch.randn(20, 6, 4)
    ends = []
    for make_optimizer in (
        lambda parameters: OwnOptimizer(adafactor_step, [{"params": parameters, **options, "lr": 0.01}]),
        lambda parameters: Adafactor(parameters, lr=0.01, relative_step=False, scale_parameter=False),
    ):
        weight = torch.nn.Parameter(start.clone())
        optimizer = make_optimizer([weight])
        for gradient in gradients:
            weight.grad = gradient.clone()
            optimizer.step()
        ends.append(weight.detach())
    print(f"largest difference to transformers after 20 steps: {float((ends[0] - ends[1]).abs().max()):.1e}")


look(compare_with_transformers)

# %% check="check_adafactor_steps" points=4
check_adafactor_steps(adafactor_step)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write the loop, the skip and the step for a parameter of one dimension, with the worked second moment.<br>
# Then: add the factored second moment, and choose between the two by `.dim()`. With `keepdim=True`, the row means have
# the shape `[..., rows, 1]`, so they multiply without `unsqueeze`.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: all gradients are 4 times too large. How does Adafactor show it?</summary>
# Not at all, because the root of V is 4 times as large too; compare gradients to find such a fault, as with AdamW.
# </details>

# %% [markdown]
# ## A real run
#
# The task is that of lesson 06: do two sentences have the same subject? First, how close is the estimate on real
# gradients? The next cell estimates the mean of the squared gradients over 10 batches.

# %%
from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, tokenize_pairs

tokenizer = make_tokenizer()
training, validation = (tokenize_pairs(make_sentence_pairs(split), tokenizer) for split in ("train", "validation"))


def load_batches():
    generator = torch.Generator().manual_seed(0)
    for batch in torch.utils.data.DataLoader(training, batch_size=16, shuffle=True, generator=generator):
        yield {name: values.to(device) for name, values in batch.items()}


# %%
classifier = make_pair_classifier().to(device)
means = {name: 0.0 for name, parameter in classifier.named_parameters() if parameter.dim() > 1}
for _, batch in zip(range(10), load_batches(), strict=False):
    classifier.zero_grad()
    classifier(**batch).loss.backward()
    for name, parameter in classifier.named_parameters():
        if name in means:
            means[name] = means[name] + parameter.grad.square() / 10
for name in list(means)[:5]:
    factored, single = (relative_error(guess, means[name]) for guess in (estimate(means[name]), means[name].mean()))
    print(f"{name.removeprefix('bert.'):<50} error {factored:.2f}, of one mean {single:.2f}")

# %% [markdown]
# On real gradients, the estimate from rows and columns is much closer than a single mean. For the word embedding, the
# single mean has an error of 1.00, no better than a guess of zero, because only a few of its rows have large gradients.

# %% [markdown]
# Now train for 125 updates, most of an epoch, with each optimizer and with **two learning rates each**, because a
# comparison at one rate says little about two optimizers. The cell takes about 20 seconds.


# %%
def train(make_optimizer):
    """Take 125 updates; return the model, its optimizer, and the mean of every 25 losses."""
    model = make_pair_classifier().to(device)
    optimizer = make_optimizer(model.parameters())
    losses = []
    for _, batch in zip(range(125), load_batches(), strict=False):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return model, optimizer, torch.stack(losses).view(-1, 25).mean(dim=1).tolist()


# %%
pair_makers = {}
for lr in (2e-4, 5e-4):
    pair_makers[f"AdamW, {lr:g}"] = lambda parameters, lr=lr: torch.optim.AdamW(parameters, lr=lr)
    options_of_rate = as_the_trainer | {"lr": lr}
    pair_makers[f"Adafactor, {lr:g}"] = lambda parameters, own=options_of_rate: Adafactor(parameters, **own)
trained = {name: train(make_optimizer) for name, make_optimizer in pair_makers.items()}
curves = {name: losses for name, (_, _, losses) in trained.items()}
draw_curves(
    [25, 50, 75, 100, 125], curves, title="Loss, first 125 updates", x_label="update", y_label="mean of 25 losses"
)

# %%
held_out = {name: values.to(device) for name, values in validation[:].items()}
for name, (model, optimizer, losses) in trained.items():
    with torch.no_grad():
        guesses = model(**held_out).logits.argmax(dim=1)  # [pairs]
    hits = int((guesses * held_out["labels"]).sum())
    f1 = 2 * hits / int(guesses.sum() + held_out["labels"].sum())
    state = format_bytes(optimizer_state_bytes(optimizer))
    print(f"{name:<17} last loss {losses[-1]:.3f}, F1 {f1:.3f}, optimizer state {state}")

# %% [markdown]
# Within 125 updates, AdamW predicts no pair to be alike at either rate (F1 0.000). It gets there later: lesson 06
# measured 0.996 after 2 epochs at 2e-4. Adafactor is ahead at 2e-4 and far less so at 5e-4. A rate found for one
# optimizer says nothing about another, so tune both before you compare. AdamW's state is more than 90 times as large as
# Adafactor's.
#
# This is one task and one seed. Without a first moment, each update follows the gradient of its own batch alone, and a
# published guide reports slower convergence in some cases. Before you rely on Adafactor, compare its loss with AdamW's,
# both at a tuned rate.

# %% [markdown]
# ## Three forms of one run
#
# A published course shows this code for Adafactor, and below it, as its output, a state. Before you unfold: which two
# signs show that the output does not come from this code?
#
# ```python
# from torch.optim import Adafactor
# optimizer = Adafactor(params=model.parameters(), lr=lr)
# # dict_values([{'step': tensor(3.), 'exp_avg_sq_row': tensor([1.0000e-30, ...]),
# #               'exp_avg_sq_col': tensor([4.6147e-11, ...])}, ...])
# # Number of Adafactor parameters: 178,712
# ```
#
# <details><summary>The two signs</summary>
# PyTorch's keys are row_var and col_var, and it keeps 178,608 elements; exp_avg_sq_row and 178,712 belong to
# transformers. There is a third sign: PyTorch counts steps in a tensor, transformers in an int, so `tensor(3.)` and
# exp_avg_sq_row cannot occur in the same state.
# </details>

# %% [markdown]
# So "train with Adafactor" does not yet specify an optimizer:
#
# | library | raw and Accelerate | Trainer |
# |---|---|---|
# | transformers | `Adafactor(parameters, lr=lr, relative_step=False, scale_parameter=False)` | `optim="adafactor"` |
# | torch | `torch.optim.Adafactor(parameters, lr=lr)` | no name; `Trainer(..., optimizers=(optimizer, None))` |
#
# Accelerate takes either optimizer, prepared together with model and loader. Do the two train alike at the same
# learning rate? The table below takes 5 updates with each. Before you run it: which of them moves the weights further,
# and by about what factor?

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import check_adafactor_accelerate, check_adafactor_trainer, measure_weight_distance, plain_trainer_arguments

same_run = plain_trainer_arguments(device)  # one epoch in order, no clipping, constant rate, optim="sgd"


def train_raw(model, optimizer, dataset, rows: int) -> None:
    """The reference: one update for each batch of so many rows, in order; the last batch may be short."""
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% [markdown]
# **Exercise.** Train with the Adafactor of the requested library, once with Accelerate and once with the Trainer.
#
# *Contract (both).*
# - `library` is `"transformers"` or `"torch"`. Use a constant `lr`, no momentum, no weight decay, and other options at
#   their defaults. With transformers, use neither a relative step nor a scale.
# - Train one epoch in order, in training mode, with one update per batch of `rows` rows, the short last one included.
# - Accelerate: prepare model, optimizer and loader, and use what `prepare` returns. Call `model(**batch)`, not
#   `.forward`, and `accelerator.backward`.
# - Trainer: add your arguments to `same_run` with `|`.
#
# The checks compare gradients, options, state bytes and weights with `train_raw`.


# %% exercise="train_adafactor_with_accelerate"
def train_adafactor_with_accelerate(model, dataset, rows: int, lr: float, library: str) -> None:
    """Train a model in a loop with Accelerate, with the Adafactor of one library.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of an update.
        lr: Learning rate, constant.
        library: "transformers" or "torch".
    """
    ### BEGIN SOLUTION
    if library == "torch":
        optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
    else:
        optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_adafactor_with_trainer"
def train_adafactor_with_trainer(model, dataset, rows: int, lr: float, library: str) -> None:
    """Train a model with the Trainer, with the Adafactor of one library.

    Args:
        model: Returns an output with .loss.
        dataset: Rows as the model takes them, labels included.
        rows: Rows of an update.
        lr: Learning rate, constant.
        library: "transformers" or "torch".
    """
    ### BEGIN SOLUTION
    own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
    arguments = TrainingArguments(**(same_run | own))
    optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
    ### END SOLUTION


# %%
from grader import measure_optimizer_run

few_pairs, start = training.select(range(40)), make_pair_classifier().to(device)
raw_makers = {"torch": lambda parameters: torch.optim.Adafactor(parameters, lr=2e-4)}
raw_makers["transformers"] = lambda parameters: Adafactor(parameters, **as_the_trainer)
raw_makers["plain: AdamW"] = lambda parameters: torch.optim.AdamW(parameters, lr=2e-4)
forms = {}
for name, make_optimizer in raw_makers.items():
    forms[f"raw, {name}"] = lambda model, make=make_optimizer: train_raw(model, make(model.parameters()), few_pairs, 8)
for library in ("torch", "transformers"):
    forms[f"Accelerate, {library}"] = lambda model, library=library: train_adafactor_with_accelerate(
        model, few_pairs, 8, 2e-4, library
    )
    forms[f"Trainer, {library}"] = lambda model, library=library: train_adafactor_with_trainer(
        model, few_pairs, 8, 2e-4, library
    )

# %%
import contextlib
import io

print(f"{'form':<24} {'moved':>6} {'from raw':>9} {'state, bytes':>13} {'update, ms':>11}")
ends, vector_of = {}, torch.nn.utils.parameters_to_vector
for name, train in forms.items():
    ends[name] = make_pair_classifier().to(device)
    with contextlib.redirect_stdout(io.StringIO()) as printed:  # the Trainer prints a line for each run
        run = look(measure_optimizer_run, train, ends[name])
    if not run:
        print(name, printed.getvalue())
        continue
    moved = (vector_of(ends[name].parameters()) - vector_of(start.parameters())).norm().item()
    raw = ends[f"raw, {name.partition(', ')[2]}"]
    distance = measure_weight_distance(ends[name], raw, start)
    print(f"{name:<24} {moved:>6.3f} {distance:>9.1e} {run.state_bytes:>13,} {1e3 * run.step_seconds:>11.1f}")

# %% [markdown]
# The states take equally many bytes, but the steps differ, because PyTorch scales its steps by the RMS of the weights,
# which is small. Neither the name of an optimizer nor the bytes of its state therefore identify it. With `beta1=0.0`,
# transformers' Adafactor even ends with the same weights as without it, although it keeps a first moment: only the
# bytes of its state reveal that.

# %% check="check_adafactor_accelerate" points=2
check_adafactor_accelerate(train_adafactor_with_accelerate)

# %% check="check_adafactor_trainer" points=2
check_adafactor_trainer(train_adafactor_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the loop with Accelerate is `train_raw` with prepared objects. Which of its lines changes?<br>
# Then: the Trainer can build one of the two optimizers from its arguments. How does it receive the other?
# </details>

# %% [markdown]
# ## The price
#
# How much does Adafactor take off the peak of an update? Before you run the cell: how far is each bar below AdamW's?
# The chain is that of lesson 06, with 32.1 MiB of parameters and 32 rows.


# %%
from grader import draw_bars, measure_peak_memory, measure_step_time


def make_update(make_optimizer) -> dict:
    """One update of the chain, as measure_peak_memory takes it."""
    model = make_chain(16, 256, 1024).to(device)
    optimizer = make_optimizer(model.parameters())
    inputs = torch.randn(32, 256, device=device)  # [batch, width]

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


kinds = {"AdamW": lambda parameters: torch.optim.AdamW(parameters, foreach=False)}
kinds |= {"Adafactor, momentum": makers["transformers with momentum"], "Adafactor": makers["transformers"]}
jobs = {name: make_update(make_optimizer) for name, make_optimizer in kinds.items()}
draw_bars({name: measure_peak_memory(**job) for name, job in jobs.items()}, title="Peak of one update, 32 rows")


def adamw_step():
    jobs["AdamW"]["optimizer"].step()


def adafactor_library_step():
    jobs["Adafactor"]["optimizer"].step()


print(measure_step_time(adamw_step, adafactor_library_step, run_count=3))

# %% [markdown]
# The state disappears from the peak, which falls by 64 MiB. With momentum it falls by 32 MiB, because one of AdamW's
# two numbers for each parameter remains.
#
# | | transformers, default | the Trainer, `optim="adafactor"` | PyTorch |
# |---|---|---|---|
# | learning rate | `min(1e-2, 1 / sqrt(step))` | `learning_rate` | `min(lr, 1 / sqrt(step))` |
# | scaled by the weight | yes | no | yes, always |
# | `eps` | 1e-30, in the squares | 1e-30, in the squares | the root, and the mean of the rows, are at least 1.2e-7 |
# | momentum | `beta1=None` | none | none |
# | a weight decays by | `rate * weight_decay` | `rate * weight_decay` | `lr * weight_decay` |
#
# One name thus refers to three different optimizers.

# %% [markdown]
# **Use Adafactor when** the optimizer state is what does not fit, and most parameters are in large matrices. **Do not
# when** the state of AdamW or 8-bit AdamW fits, or where you cannot tune the learning rate. **Combine with** gradient
# accumulation, checkpointing and mixed precision. Two related methods are Muon (lesson 06), which keeps one moment,
# half of AdamW's state, and *low-rank* states (GaLore), which keep both moments of a projected gradient: `2 r (R + C)`
# numbers or fewer for rank `r`.

# %% [markdown]
# **At real scale.** The next cell forecasts BERT-large with Adafactor. The forecast emulates CUDA's operators and has
# not yet been confirmed on a device. The published figures are those of `nvidia-smi`, less 1,343 MiB of CUDA context.
# "The rest" is fp16, gradient accumulation and checkpointing. The published run accumulated 4 micro-batches; the
# forecast takes 2, as in lesson 02.

# %%
from grader import BERT_LARGE_ROWS, bert_large_recipe, forecast_peak_memory

for name, fields in (("adafactor", {}), ("adafactor_and_the_rest", {"accumulate": 2})):
    forecast = forecast_peak_memory(bert_large_recipe(name, **fields))
    published_mib = BERT_LARGE_ROWS[name].less_context_mib
    print(f"{name:<23} forecast {forecast.peak_bytes / MIB:>5,.0f} MiB   published {published_mib:>6,} MiB")
print("not forecast: allocator reserve and fragmentation")
parameters = forecast.parameter_bytes // 4
saved = BERT_LARGE_ROWS["vanilla"].occupied_mib - BERT_LARGE_ROWS["adafactor"].occupied_mib
print(f"published: Adafactor saves {saved:,} MiB of {BERT_LARGE_ROWS['vanilla'].occupied_mib:,} MiB")
for parameter_bytes in (4, 8):
    print(f"{parameter_bytes} bytes x {parameters:,} parameters = {parameter_bytes * parameters / MIB:,.0f} MiB")

# %% [markdown]
# The guide's own table contradicts its "slightly more than 4 bytes". If 4 bytes of state per parameter remained,
# Adafactor would save half of AdamW's 8. The table shows that it saved slightly more than all 8.
#
# In the first row the gap is large, as in lesson 05, because the forecast counts tensors, whereas `nvidia-smi` counts
# everything that the allocator has reserved. The second row is within 9 %.

# %% [markdown] tags=["further"]
# ## Further: which learning rate is it?
#
# There are five ways to make an Adafactor, and each takes its own learning rate at a step:
#
# | form | made by | its rate |
# |---|---|---|
# | `"Trainer"` | `optim="adafactor"`, `learning_rate=lr` | neither relative nor scaled |
# | `"transformers"` | `Adafactor(parameters)` | relative, scaled |
# | `"warm-up"` | `Adafactor(parameters, warmup_init=True)` | relative, scaled; its bound grows |
# | `"scaled"` | `Adafactor(parameters, lr=lr, relative_step=False)` | scaled |
# | `"torch"` | `torch.optim.Adafactor(parameters, lr=lr)` | relative, scaled; its bound is `lr` |
#
# A *relative* rate is the smaller of a bound and `1 / sqrt(step)`. The bound is 1e-2 unless the table gives another
# one; for the warm-up it is `1e-6 * step`. A *scaled* rate is multiplied by the larger of 1e-3 and the RMS of the
# weight. A form that is not relative starts from `lr`.

# %% [markdown]
# **Exercise.** Return the learning rate of each form.
#
# *Contract.*
# - `form` is one of the five names. `lr` is passed for every form, including those that do not use it.
# - `step` counts from 1; `weight_rms` is the RMS of the weight before the step.
# - Compute the rate by hand, without calling an optimizer's own function, and return it as a number.
#
# The check allows a relative error of 1e-6, at early and late steps, with large and small weights.

# %% tags=["given"]
from grader import check_adafactor_rates


# %% exercise="adafactor_rate"
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    """Learning rate that one form of Adafactor takes for one tensor.

    Args:
        form: "Trainer", "transformers", "warm-up", "scaled" or "torch".
        lr: Learning rate that the user gave.
        step: Counted from 1.
        weight_rms: Root of the mean square of the weight.

    Returns:
        What the clipped update is multiplied by.
    """
    ### BEGIN SOLUTION
    bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
    rate = min(bounds[form], step**-0.5) if form in bounds else lr
    return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
    ### END SOLUTION


# %%
for form in ("Trainer", "transformers", "warm-up", "scaled", "torch"):
    rate = look(adafactor_rate, form, 1e-3, 100, 0.02)
    if rate is not None:
        print(f"{form:<12} {rate:.1e} at step 100, for a matrix of RMS 0.02 and lr 1e-3")

# %% check="check_adafactor_rates" points=1
check_adafactor_rates(adafactor_rate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which two yes-or-no questions distinguish the forms?<br>
# Then: compute the unscaled rate for all five, and scale four of them in one last line.
# </details>

# %% [markdown]
# With the same `lr`, the rates of these forms differ by a factor of up to 500 at this step. A learning rate that was
# tuned for one form says nothing about another.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>What does Adafactor keep for a matrix of R x C numbers, and what for a bias?</summary>
# For the matrix it keeps R + C means of squares, for the bias the whole second moment.
# </details>
# <details><summary>Why is row mean times column mean divided by the mean of all?</summary>
# Both factors contain the mean of all squares, so the product contains it twice.
# </details>
# <details><summary>When does Adafactor take 4 bytes for each parameter?</summary>
# When it uses momentum (`beta1`), which keeps one float32 number for each parameter.
# </details>
#
# **Takeaway: Adafactor reduces the second moment to means of rows and columns, and gives up the first moment.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 08, 8-bit Adam.

# %% [markdown]
# **Sources**
# - [Shazeer and Stern, Adafactor][adafactor]: the factored second moment, update clipping, the growing decay, relative
#   steps.
# - [transformers, Adafactor][transformers]: the options and their defaults.
# - [PyTorch, Adafactor][torch]: what `lr` and `eps` mean there.
# - [Zhao et al., GaLore][galore]: low-rank states.
# - [Efficient training on a single GPU][guide]: the table, and "slightly more than 4 bytes".
# - *Efficient AI model training with PyTorch*, slides: the product of sums, and the state of two libraries.
#
# [adafactor]: https://arxiv.org/abs/1804.04235
# [transformers]: https://huggingface.co/docs/transformers/main_classes/optimizer_schedules
# [torch]: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adafactor.html
# [galore]: https://arxiv.org/abs/2403.03507
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
