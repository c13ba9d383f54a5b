# %% [markdown]
# # 6. AdamW
#
# You write AdamW, predict to the byte what it keeps, and use its parameter groups in raw PyTorch, with Accelerate and
# with the Trainer.
#
# 60 min (estimated) · CPU is enough · after lesson 05

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict the bytes of an optimizer's state from its update rule;
# - complete Adam from RMSProp, with both bias corrections;
# - write AdamW for groups of parameters, equal to PyTorch's over 20 steps;
# - train with two decay groups in three forms, with equal weights and equal state.

# %% tags=["given"]
import torch

from grader import (
    MIB,
    check_state_bytes,
    device_name,
    format_bytes,
    lesson_device,
    look,
    make_chain,
    measure_peak_memory,
)

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Some mixed-precision recipes train with 16-bit weights. What are master weights for?</summary>
# They are a 32-bit copy of the weights. In 16 bits, small updates would be rounded away.
# </details>
# <details><summary>What does gradient checkpointing trade?</summary>
# It saves the memory of activations at the price of a second forward pass of each segment.
# </details>

# %% [markdown]
# **The problem.** DistilBERT has 65,783,042 parameters in 104 tensors. In float32 they take 250.9 MiB.
#
# You train it with plain SGD, and it fits. Then you change one line, to `torch.optim.AdamW(...)`, and the GPU runs out
# of memory, although neither the batch nor the model has grown. What does AdamW hold that SGD does not, and what does
# it buy with this memory?

# %% [markdown]
# ## Four rules
#
# An optimizer is a rule that turns a gradient `g` into a change of a weight `w`. All four rules are element-wise.
#
# | optimizer | rule at step `t` |
# |---|---|
# | SGD | `w -= lr * g` |
# | SGD with momentum | `v = mu * v + g`, then `w -= lr * v` |
# | RMSProp | `s = alpha * s + (1 - alpha) * g**2`, then `w -= lr * g / (sqrt(s) + eps)` |
# | AdamW | `w -= lr * decay * w`, then `w -= lr * (m / share1) / (sqrt(s / share2) + eps)` |
#
# In AdamW, `m = beta1 * m + (1 - beta1) * g` is a running mean of gradients, and `s` is that of RMSProp with `beta2`
# in place of `alpha`. `share1` is `1 - beta1**t` and `share2` is `1 - beta2**t`; both are computed again at each step.


# %% [markdown]
# *Gradient descent* computes `g` from all the data. **SGD** computes it from one mini-batch, which is noisy but far
# cheaper. A single `lr` then has to fit all weights. It cannot where gradients differ by orders of magnitude: rare
# words, for example, have a gradient in few batches only. **AdaGrad** (2011) gave each weight a rate of its own, which
# helps such *rare features*, and RMSProp and Adam kept that idea. The price is a second state. In addition, Adam's
# result depends on `lr`, `beta2` and `eps`, so try more than one value of each.


# %% tags=["given"]
def sgd_update(weight, gradient, state, lr):
    weight -= lr * gradient


def momentum_update(weight, gradient, state, lr, mu=0.9):
    if not state:
        state["velocity"] = torch.zeros_like(weight)
    state["velocity"].mul_(mu).add_(gradient)
    weight -= lr * state["velocity"]


def run_by_hand(update, gradients, **options):
    """Take one step for each gradient, and return the weight after each of them, [steps, 3, 4]."""
    weight, state = torch.linspace(-1, 1, 12, device=device).view(3, 4), {}
    rows = []
    for gradient in gradients:
        update(weight, gradient, state, **options)
        rows.append(weight.clone())
    return torch.stack(rows)


# %% tags=["given"]
def run_torch(optimizer_class, gradients, **options):
    """Do the same with an optimizer of PyTorch."""
    weight = torch.nn.Parameter(torch.linspace(-1, 1, 12, device=device).view(3, 4))
    optimizer = optimizer_class([weight], **options)
    rows = []
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
        rows.append(weight.detach().clone())
    return torch.stack(rows)


torch.manual_seed(0)
gradients = torch.randn(20, 3, 4).to(device)


# %% [markdown]
# The first two rules are written out here. `state` is a dict that persists from step to step: a rule stores there what
# it carries over to the next step. The next cell takes 20 steps and compares the weights with PyTorch's.

# %%
for name, by_hand, by_torch in (
    ("SGD", run_by_hand(sgd_update, gradients, lr=0.1), run_torch(torch.optim.SGD, gradients, lr=0.1)),
    (
        "SGD with momentum",
        run_by_hand(momentum_update, gradients, lr=0.1),
        run_torch(torch.optim.SGD, gradients, lr=0.1, momentum=0.9),
    ),
):
    print(f"{name:<18} largest difference to torch after 20 steps: {float((by_hand - by_torch).abs().max()):.1e}")

# %% [markdown]
# ## Predict: the bytes of the state
#
# What a rule carries over to the next step is its **state**. Read the four rules once more: which letters are carried
# over?
#
# Three facts about PyTorch:
#
# - What is carried over has the shape and the number format of its parameter.
# - RMSProp and AdamW also count their steps, with one float32 number for **each tensor**. `SGD` does not count steps.
# - A tensor without a gradient is skipped. A frozen tensor, with `requires_grad=False`, never has any state.

# %% [markdown]
# **Exercise.** Predict the bytes of the state.
#
# *Contract.*
# - `parameters` are the tensors that the optimizer receives; `optimizer` is one of the four names in the table.
# - Return the bytes of its state after the first step; a float that equals the integer is accepted.
# - The tensors have no values and no `.grad` yet; every tensor with `requires_grad` is trained. Compute the bytes, and
#   change nothing.
#
# The check asks for the exact bytes, on DistilBERT and on lists with frozen and with 16-bit tensors.


# %% exercise="predict_optimizer_state"
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    """Predict the bytes that an optimizer keeps from step to step.

    Args:
        parameters: Tensors; each has .numel(), .element_size() and .requires_grad.
        optimizer: "SGD", "SGD with momentum", "RMSProp" or "AdamW".

    Returns:
        Bytes of its state after the first step.
    """
    ### BEGIN SOLUTION
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter_bytes = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return sum(moments * tensor.numel() * tensor.element_size() + counter_bytes for tensor in trained)
    ### END SOLUTION


# %%
look(lambda: format_bytes(predict_optimizer_state(list(make_chain(2, 8, 32).parameters()), "AdamW")))

# %% check="check_state_bytes" points=2
check_state_bytes(predict_optimizer_state)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take one Linear(3, 4), which has two tensors. For each rule, write its state as a list of tensors.<br>
# Then: which parts grow with the numbers in a tensor, and which with the number of tensors?
# </details>

# %% [markdown]
# **Run.** Now measure DistilBERT. Each optimizer takes one step with gradients of zero, because its state is then as
# large as with real ones. The meter counts tensors, each storage once.

# %%
from grader import make_distilbert, optimizer_state_bytes, optimizer_state_elements

model = make_distilbert()
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
makers = {"SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1)}
makers["SGD with momentum"] = lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
makers["AdamW"] = lambda parameters: torch.optim.AdamW(parameters, fused=True)
for name, make_optimizer in (makers | {"RMSProp": torch.optim.RMSprop}).items():
    optimizer = make_optimizer(model.parameters())
    optimizer.step()
    predicted = look(predict_optimizer_state, list(model.parameters()), name)
    note = f"predicted {predicted:>11,}" if predicted is not None else ""
    measured_bytes = optimizer_state_bytes(optimizer)
    print(f"{name:<18} {optimizer_state_elements(optimizer):>11,} elements {measured_bytes:>11,} bytes", end=" ")
    print(f"{measured_bytes / MIB:>7.2f} MiB  {note}")
del model, optimizer, parameter

# %% [markdown]
# **Investigate.** AdamW keeps two numbers for each parameter: 2 x 65,783,042. In float32 these take 526,264,336 bytes,
# but the meter shows 526,264,752 bytes. The difference of 416 bytes is 104 step counters of 4 bytes.
#
# In words: *the state is the number of moments times the trained parameters, in their format. RMSProp and AdamW add
# one counter for each trained tensor.*
#
# **Names.** *Optimizer state*. AdamW's `m` and `s` are the *first* and the *second moment*, in PyTorch `exp_avg` and
# `exp_avg_sq`. They are not derivatives: `s` is a mean of squared gradients. 501.89 *MiB* are 526.26 *MB*; many tools
# print MiB but write MB.

# %% [markdown]
# Does the state show in the peak of a training step? You know the chain of lesson 01: 16 blocks, 512 rows, 32.1 MiB of
# parameters. Before you run the cell: how far apart are the three bars?


# %%
from grader import draw_bars


def make_update(make_optimizer, batch_size: int) -> dict:
    """Build one update of the chain, as the arguments of measure_peak_memory."""
    model = make_chain(16, 256, 1024).to(device)
    optimizer = make_optimizer(model.parameters())
    inputs = torch.randn(batch_size, 256, device=device)  # [batch, width]

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


makers["AdamW"] = lambda parameters: torch.optim.AdamW(parameters, foreach=False)
peaks = {name: measure_peak_memory(**make_update(make_optimizer, 512)) for name, make_optimizer in makers.items()}
draw_bars(peaks, title="Peak of one update, 16 blocks, 512 rows")

# %% [markdown]
# Each moment takes as much memory as the parameters, 32.1 MiB, and is held during the whole step, whatever the batch
# size. This answers the question at the start: after its first step, AdamW holds a state of twice the model's size.
# The first forward pass therefore still fits, but the second one does not.
#
# <details><summary>Explain in one sentence: why does a smaller batch not help against optimizer state?</summary>
# The state has the size of the parameters, which does not depend on the rows of the batch.
# </details>

# %% [markdown]
# ## Complete: Adam from RMSProp
#
# What does the second moment buy? RMSProp divides each gradient by the root of its recent mean square, so a weight
# with gradients of 0.001 moves as far as one with gradients of 10. RMSProp is written out in the next cell.

# %% tags=["given"]
from grader import check_adam_updates


def rmsprop_update(weight, gradient, state, lr, alpha=0.99, eps=1e-8):
    if not state:
        state["square_mean"] = torch.zeros_like(weight)
    state["square_mean"].mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
    weight -= lr * gradient / (state["square_mean"].sqrt() + eps)


# %%
from grader import draw_curves

difference = run_by_hand(rmsprop_update, gradients, lr=0.01) - run_torch(torch.optim.RMSprop, gradients, lr=0.01)
print(f"RMSProp: largest difference to torch after 20 steps: {float(difference.abs().max()):.1e}")


def step_lengths(update, **options):
    """Return how far each step moves a weight whose gradient is always 1, in units of the learning rate."""
    places = run_by_hand(update, torch.ones(1000, 3, 4, device=device), lr=1e-3, **options)[:, 0, 0]
    start = torch.full_like(places[:1], -1.0)
    return ((torch.cat([start, places[:-1]]) - places) / 1e-3).tolist()


shown = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
lengths = {"RMSProp": step_lengths(rmsprop_update)}
draw_curves(
    shown,
    {name: [values[step - 1] for step in shown] for name, values in lengths.items()},
    title="Step length with a gradient that is always 1",
    x_label="step",
    y_label="step length / learning rate",
)

# %% [markdown]
# With a gradient that is always 1, each step should be one learning rate long. RMSProp's first step is **ten** times
# as long, because its mean starts at zero: after one step the mean is `(1 - alpha) * 1 = 0.01`, and the root of that
# is 0.1.
#
# Adam corrects this **bias**. In a running mean that started at zero, the coefficients of the first `t` values add up
# to only `1 - beta**t` instead of 1. Divided by this share, it is a true mean from the first step on.
#
# Adam also replaces the gradient itself by a running mean of gradients, with `beta1`. This mean starts at zero, too.

# %% [markdown]
# **Exercise.** Complete Adam. The state and the step count are given.
#
# *Contract.*
# - Update both moments in `state`, correct their bias, and change `weight` in place. Do not change the gradient.
# - Moments have the format of the weight. Use the corrected moments for the step, but do not store them.
# - Add `eps` to the root of the corrected second moment.
# - Write it by hand, without an optimizer of PyTorch.
#
# The check compares the weights after each of 20 steps, with other betas, with an `eps` that is large enough to
# matter, and on other shapes.


# %% exercise="adam_update"
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    """Take one step of Adam with one tensor, by hand.

    Args:
        weight: Changed in place; any shape.
        gradient: Gradient of the same shape.
        state: Empty at the first step; what you store in it is passed to the next step.
        lr: Learning rate.
        betas: Decay rates of the first and of the second moment.
        eps: Added to the root of the second moment.
    """
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    ### BEGIN SOLUTION
    state["mean"].mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
    state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    mean = state["mean"] / (1 - betas[0] ** state["step"])
    square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
    weight -= lr * mean / (square_mean.sqrt() + eps)
    ### END SOLUTION


# %%
lengths["Adam, yours"] = look(step_lengths, adam_update)
for name, values in lengths.items():
    if values:
        print(f"{name:<12} step lengths at steps 1, 2, 10, 1000:", *(f"{values[i]:.3f}" for i in (0, 1, 9, 999)))

# %% check="check_adam_updates" points=3
check_adam_updates(adam_update)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take a gradient of 1. Write down both moments after step 1, and what each has to be divided by to become
# 1.<br>
# Then: you have RMSProp's two lines. Which line is new, and which two names does the last line use instead?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is Adam's first step 3.16 times too long without correction?</summary>
# The first moment is 0.1 of the gradient, and the root of the second is 0.0316 of it: their ratio is 3.16.
# </details>
#
# **Modify.** Call `step_lengths(adam_update, betas=(0.9, 0.9))[:3]`. Before you run it: is the first step longer,
# shorter, or as long as before?
#
# <details><summary>Answer</summary>
# As long as before, one learning rate: each moment is divided by its own share, so the betas cancel.
# </details>

# %% [markdown]
# ## Write: AdamW
#
# **Weight decay** pulls each weight towards zero. A model with more freedom than data fits the noise in its training
# rows with large weights. Decay puts a price on every weight, so only those that many rows support stay large. In the
# next cell, 50 weights learn from 60 noisy rows. Before you run it: which of the two errors does decay lower?

# %%
from grader import draw_curves

torch.manual_seed(0)
truth = 0.2 * torch.randn(50)
(inputs, targets), (other_inputs, other_targets) = [
    (features, features @ truth + torch.randn(len(features)))
    for features in (torch.randn(60, 50), torch.randn(1000, 50))
]
decays, errors = [0.1, 0.3, 1, 3, 10, 30], {"training rows": [], "1,000 other rows": []}
for decay in decays:
    weight = torch.nn.Parameter(torch.zeros(50))
    optimizer = torch.optim.AdamW([weight], lr=0.02, weight_decay=decay)
    for _ in range(300):
        optimizer.zero_grad()
        (inputs @ weight - targets).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        errors["training rows"].append((inputs @ weight - targets).square().mean().item())
        errors["1,000 other rows"].append((other_inputs @ weight - other_targets).square().mean().item())
draw_curves(decays, errors, title="Error after 300 updates", x_label="weight_decay", y_label="mean squared error")

# %% [markdown]
# The training error rises with the decay. The error on other rows falls at first, and rises again where the decay is
# too large.
#
# In plain SGD it does not matter whether you subtract `lr * decay * w` from the weight or add `decay * w` to the
# gradient. In Adam it does, because what is added to the gradient passes through both moments and is divided by the
# root of the second. Consider two weights of 1.0. The gradient of the first alternates between 10 and -10, that of the
# second between 0.1 and -0.1, so their steps nearly cancel. Decay alone would leave `(1 - 0.01 * 0.1)**200` of each.
# Before you run the cell: which of them does Adam let decay less?

# %%
for optimizer_class in (torch.optim.Adam, torch.optim.AdamW):
    weights = torch.nn.Parameter(torch.ones(2, device=device))
    optimizer = optimizer_class([weights], lr=0.01, weight_decay=0.1)
    for step in range(200):
        weights.grad = torch.tensor([10.0, 0.1], device=device) * (-1) ** step
        optimizer.step()
    noisy, calm = weights.tolist()
    print(f"{optimizer_class.__name__:<6} large gradients {noisy:.3f}   small gradients {calm:.3f}")
print(f"decay alone: {(1 - 0.01 * 0.1) ** 200:.3f}")

# %% [markdown]
# With `Adam` the weight with large gradients hardly decays, and the other one decays far too much. With `AdamW` both
# decay alike. They end slightly below decay alone, because the first steps are the largest and do not cancel.
#
# The W means that the decay is **decoupled**: first `w *= 1 - lr * weight_decay`, then Adam's step.
#
# PyTorch's optimizers work on **groups** of parameters. Each group is a dict with its own options. `OwnOptimizer` is
# such an optimizer, with a step function that you write: `OwnOptimizer(adamw_step, parameters, lr=1e-3)`.

# %% tags=["given"]
from grader import OwnOptimizer, check_adamw_steps

layer = torch.nn.Linear(3, 2).to(device)
groups = [{"params": [layer.weight], "weight_decay": 0.1}, {"params": [layer.bias], "weight_decay": 0.0}]
example = OwnOptimizer(lambda optimizer: None, groups, lr=1e-3)
for group in example.param_groups:
    print({name: value for name, value in group.items() if name != "params"}, [p.shape for p in group["params"]])
print(f"state of the first parameter: {example.state[layer.weight]}")

# %% [markdown]
# **Exercise.** Write AdamW's step, from an empty cell.
#
# *Contract.*
# - At each step, read `"lr"`, `"betas"`, `"eps"`, `"weight_decay"` of each group in `optimizer.param_groups`.
# - Skip a parameter whose `.grad` is None: no decay, and no change of its state.
# - `optimizer.state[parameter]` is an empty dict at first. Keep two moments in it, in the parameter's format, and that
#   parameter's own step count.
# - Change parameters in place, and nothing else; gradients are off during a step.
# - Write it by hand, without an optimizer of PyTorch.
#
# The check compares the weights after each of 20 steps, with several groups, and the state's bytes.


# %% exercise="adamw_step"
def adamw_step(optimizer) -> None:
    """Take one step of AdamW with all groups, by hand.

    Args:
        optimizer: Has `param_groups`, a list of dicts, and `state`, a dict for each parameter.
    """
    ### BEGIN SOLUTION
    for group in optimizer.param_groups:
        beta1, beta2 = group["betas"]
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            state["mean"].lerp_(weight.grad, 1 - beta1)
            state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
    ### END SOLUTION


# %%
def compare_with_torch():
    options = {"lr": 0.01, "weight_decay": 0.1}
    own = run_torch(lambda parameters, **rest: OwnOptimizer(adamw_step, parameters, **rest), gradients, **options)
    reference = run_torch(torch.optim.AdamW, gradients, **options)
    print(f"AdamW: largest difference to torch after 20 steps: {float((own - reference).abs().max()):.1e}")


look(compare_with_torch)

# %% check="check_adamw_steps" points=4
check_adamw_steps(adamw_step)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write Adam for one parameter, with its own state. Put the two loops and the skip around it.<br>
# Then: one line is still missing. It acts on the weight before Adam's step, and it does not affect any moment.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: what does decoupled mean?</summary>
# The decay shrinks the weight itself, so neither the gradient nor the moments affect how much it shrinks.
# </details>
#
# ## What AdamW hides
#
# Suppose that a loop forgets to divide by the number of micro-batches, so each gradient is 4 times too large. Before
# you run the cell: how far from the right run does SGD end after 20 updates, and how far AdamW? Both distances are
# relative to how far the right run moved.

# %%
from grader import measure_weight_distance


def train_scaled(make_optimizer, factor: float):
    model = make_chain(2, 16, 64).to(device)
    optimizer = make_optimizer(model.parameters())
    torch.manual_seed(1)
    for _ in range(20):
        inputs = torch.randn(64, 16, device=device)  # [batch, width]
        loss = (model(inputs) - inputs).square().mean() * factor
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


for name, make_optimizer in makers.items():
    right, scaled = train_scaled(make_optimizer, 1.0), train_scaled(make_optimizer, 4.0)
    distance = measure_weight_distance(scaled, right, make_chain(2, 16, 64))
    print(f"{name:<18} a gradient 4 times too large ends {distance:.1e} of the way from the right run")

# %% [markdown]
# SGD moves 4 times as far, so it ends 3 times as far from the right weights as the right run moved. AdamW divides the
# factor out: `m` is 4 times as large, and so is the root of `s`. Only `eps` does not scale.
#
# AdamW therefore tolerates a wrong scale, but it also **hides** it. A loss curve under AdamW does not show whether
# your accumulation divides. Compare gradients, or weights under SGD. What AdamW does not hide is a wrong mix, in which
# only some groups are scaled.

# %% [markdown]
# ## A real run
#
# The task is to decide whether two sentences have the same subject. A small BERT learns it from 2,400 pairs in 2
# epochs. *F1* is the harmonic mean of precision and recall; 1 is perfect. The cell takes about 10 seconds.

# %%
from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, tokenize_pairs

tokenizer = make_tokenizer()
training, validation = (tokenize_pairs(make_sentence_pairs(split), tokenizer) for split in ("train", "validation"))
classifier = make_pair_classifier().to(device)
optimizer = torch.optim.AdamW(classifier.parameters(), lr=2e-4)
loader = torch.utils.data.DataLoader(training, batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(0))
for epoch in range(2):
    total = 0.0
    for batch in loader:
        loss = classifier(**{name: values.to(device) for name, values in batch.items()}).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}")

# %%
with torch.no_grad():
    held_out = {name: values.to(device) for name, values in validation[:].items()}
    guesses = classifier(**held_out).logits.argmax(dim=1)  # [pairs]
hits = int((guesses * held_out["labels"]).sum())
f1 = 2 * hits / int(guesses.sum() + held_out["labels"].sum())
print(f"F1 on {len(guesses)} other pairs: {f1:.3f}")
print(f"parameters {format_bytes(sum(p.nbytes for p in classifier.parameters()))}", end=", ")
print(f"optimizer state {format_bytes(optimizer_state_bytes(optimizer))}")

# %% [markdown]
# Note the three numbers: loss, F1 and state. Lessons 07 and 08 train the same classifier with a fraction of this
# state.

# %% [markdown]
# ## Three forms of one run
#
# Biases and the weights of normalisations usually do not decay. A published guide builds two parameter groups for that
# purpose, and takes their decay from the Trainer's arguments. Before you run the cell: what are the two decays?

# %% tags=["given"]
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import check_decay_groups_accelerate, check_decay_groups_trainer, plain_trainer_arguments

same_run = plain_trainer_arguments(device)  # one epoch in order, no clipping, constant rate, optim="sgd"


def train_raw(model, optimizer, dataset, rows: int) -> None:
    """Train the reference: one update for each batch of `rows` rows, in order."""
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %%
from transformers.training_args import OptimizerNames

arguments = TrainingArguments(output_dir="trainer_output")
published = [{"weight_decay": arguments.weight_decay}, {"weight_decay": 0.0}]
print("weight_decay of the published groups:", [group["weight_decay"] for group in published])
print("AdamW's own default, for all parameters alike:", torch.optim.AdamW([torch.zeros(1)]).defaults["weight_decay"])
print("optim of the Trainer:", arguments.optim, "- one of", len(OptimizerNames))
for name in ("adamw_torch_xla", "adamw_apex_fused"):  # both in the guide's list
    print(f"{name} exists today: {name in list(OptimizerNames)}")
names = [name for name, _ in classifier.named_parameters()]
trainer_decays = Trainer(classifier, arguments).get_decay_parameter_names(classifier)
by_dimension = [name for name, parameter in classifier.named_parameters() if parameter.dim() > 1]
by_name = [name for name in names if "bias" not in name]
for rule, decayed in (
    ("Trainer", trainer_decays),
    ("two dimensions", by_dimension),
    ("no 'bias' in its name", by_name),
):
    print(f"{rule:<22} decays {len(decayed)} of {len(names)} parameters")

# %% [markdown]
# Both published decays are 0.0, so nothing decays, and the groups do not differ. The Trainer itself finds its groups
# with `get_parameter_names`, which leaves out biases and normalisations by type and by name. A rule that looks only at
# names can decay normalisations.
#
# Here is one run without groups in three forms:
#
# | raw | Accelerate | Trainer |
# |---|---|---|
# | `AdamW(model.parameters(), lr=lr)` | the same | `optim="adamw_torch_fused"`, `learning_rate=lr` |
# | `DataLoader(dataset, rows)` | then `prepare(model, optimizer, loader)` | `per_device_train_batch_size=rows` |
# | `loss.backward()` | `accelerator.backward(loss)` | in `.train()` |
# | `optimizer.step()`, `zero_grad()` | the same, of the prepared optimizer | in `.train()` |

# %% [markdown]
# **Exercise.** Train with two decay groups, once with Accelerate and once with the Trainer.
#
# *Contract (both).*
# - Use AdamW with default betas and epsilon and constant `lr`. Parameters with two or more dimensions decay by
#   `weight_decay`, all others do not.
# - Train one epoch in order, in training mode: one update for each batch of `rows` rows, the short last one included.
# - Accelerate: prepare model, optimizer and loader, and use what `prepare` returns. Call `model(**batch)`, not
#   `.forward`, and `accelerator.backward`.
# - Trainer: add your arguments to `same_run` with `|`.
# - Return nothing.
#
# The check compares gradients, options, bytes of optimizer state and weights with those of `train_raw`.


# %% exercise="train_decay_groups_with_accelerate"
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    """Train a model in a loop with Accelerate, with AdamW and two groups.

    Args:
        model: Returns an output with .loss.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update.
        lr: Constant learning rate.
        weight_decay: Weight decay of matrices and embeddings.
    """
    ### BEGIN SOLUTION
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    optimizer, accelerator = torch.optim.AdamW(groups, lr=lr), Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %% exercise="train_decay_groups_with_trainer"
def train_decay_groups_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    """Train a model with the Trainer, with AdamW and two groups.

    Args:
        model: Returns an output with .loss.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update.
        lr: Constant learning rate.
        weight_decay: Weight decay of matrices and embeddings.
    """
    ### BEGIN SOLUTION
    own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
    arguments = TrainingArguments(**(same_run | own | {"per_device_train_batch_size": rows}))
    Trainer(model, arguments, train_dataset=dataset).train()
    ### END SOLUTION


# %%
from grader import measure_optimizer_run

few_pairs, start = training.select(range(40)), make_pair_classifier().to(device)


def train_raw_groups(model):
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    train_raw(model, torch.optim.AdamW(groups, lr=1e-3), few_pairs, 8)


forms = {"raw, two groups": train_raw_groups}
forms["SGD"] = lambda model: train_raw(model, torch.optim.SGD(model.parameters(), lr=1e-3), few_pairs, 8)
forms["plain: one group"] = lambda model: train_raw(model, torch.optim.AdamW(model.parameters(), 1e-3), few_pairs, 8)
forms["Accelerate"] = lambda model: train_decay_groups_with_accelerate(model, few_pairs, 8, 1e-3, 0.1)
forms["Trainer"] = lambda model: train_decay_groups_with_trainer(model, few_pairs, 8, 1e-3, 0.1)

# %%
import contextlib
import io

print(f"{'form':<17} {'from raw':>9} {'state, bytes':>13} {'update, ms':>11}")
ends = {}
for name, train in forms.items():
    ends[name] = make_pair_classifier().to(device)
    with contextlib.redirect_stdout(io.StringIO()) as printed:  # the Trainer prints a line for each run
        run = look(measure_optimizer_run, train, ends[name])
    if run:
        distance = measure_weight_distance(ends[name], ends["raw, two groups"], start)
        print(f"{name:<17} {distance:>9.1e} {run.state_bytes:>13,} {1e3 * run.step_seconds:>11.1f}")
    else:
        print(name, printed.getvalue())

# %% check="check_decay_groups_accelerate" points=2
check_decay_groups_accelerate(train_decay_groups_with_accelerate)

# %% check="check_decay_groups_trainer" points=2
check_decay_groups_trainer(train_decay_groups_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many dimensions does a weight matrix have, an embedding, a bias, a normalisation's weight?<br>
# Then: with Accelerate you make the groups. The Trainer makes two such groups by itself: it excludes biases and
# normalisations by name and type, which gives the same groups here. From which argument does it take the decay, and
# which optimizer does `same_run` name?
# </details>

# %% [markdown]
# All forms of AdamW keep the same state. A correct Trainer form ends about 1e-3 from the raw loop instead of 0,
# because its AdamW is fused and rounds differently. AdamW takes full steps from gradients that are nearly zero, which
# makes the rounding visible. (The check compares with the weights that AdamW reaches from your form's own gradients.)

# %% [markdown]
# ## The price
#
# PyTorch implements AdamW in three ways that take the same steps. The **loop** goes from tensor to tensor.
# `foreach=True` runs each operation for all tensors at once. `fused=True` runs the whole update in one kernel. The
# next cell uses 32 rows, so that the peak is in the update.

# %%
from grader import measure_step_time

kinds = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
jobs, peaks, steps = {}, {}, []
for name, kind in kinds.items():
    jobs[name] = make_update(lambda parameters, kind=kind: torch.optim.AdamW(parameters, **kind), 32)
    peaks[name] = measure_peak_memory(**jobs[name])

    def update(optimizer=jobs[name]["optimizer"]):
        optimizer.step()

    update.__name__ = name
    steps.append(update)
draw_bars(peaks, title="Three forms of AdamW, 32 rows")
print(measure_step_time(*steps, run_count=3, warm_up_count=1))

# %% [markdown]
# `foreach` holds a buffer as large as all parameters: 30 MiB more here, and on a GPU it is PyTorch's **default**. For
# DistilBERT that is a quarter of a GiB at every update. `fused` holds no buffer, so its peak is no longer in the
# update but at the end of the backward pass. It is the default of the Trainer, `optim="adamw_torch_fused"`.
#
# | | buffers | on a GPU, by PyTorch's documentation |
# |---|---|---|
# | loop | of one tensor at a time | slowest: many small kernels |
# | foreach | of all parameters | faster; the default |
# | fused | none | fastest |

# %% [markdown]
# - **Use it when** weights have gradients of very different size, as in transformers, and its 8 bytes per parameter
#   fit.
# - **Do not when** they do not fit, or when SGD with momentum reaches the same loss in your own runs.
# - **Combine with** decay groups, mixed precision with 32-bit weights (see Further for 16-bit ones), and lessons 07
#   and 08 where memory is short.

# %% [markdown] tags=["further"]
# ## Further: the step inside the backward pass
#
# At the end of the backward pass all gradients are held at once, and together they are as large as the parameters. But
# an optimizer needs them only one at a time. `parameter.register_post_accumulate_grad_hook(hook)` calls
# `hook(parameter)` as soon as the gradient of that parameter is in `.grad`. A hook may update the weight at once, and
# then free the gradient.

# %% [markdown]
# **Exercise.** Prepare a model so that `loss.backward()` alone trains it.
#
# *Contract.*
# - After your function, each backward pass updates every parameter that has `requires_grad`, and keeps no gradient
#   longer than needed. Gradients are used unchanged; frozen parameters stay frozen.
# - Use the optimizers that `make_optimizer([...])` returns. Pass each parameter once, even where two modules share it.
#
# The check compares the weights after each backward pass, also with frozen and shared weights. With AdamW, the peak
# may be at most 92 % of that of backward pass, step and `zero_grad`.

# %% tags=["given"]
from grader import check_adam_backward_peak, check_adam_in_backward


# %% exercise="step_in_backward"
def step_in_backward(model, make_optimizer) -> None:
    """Make each backward of a model update its weights.

    Args:
        model: A module; some of its parameters may be frozen.
        make_optimizer: Takes a list of parameters and returns an optimizer.
    """

    ### BEGIN SOLUTION
    def make_hook(optimizer):
        def update(parameter):
            optimizer.step()
            optimizer.zero_grad()

        return update

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
    ### END SOLUTION


# %%
def compare_peaks():
    inside = make_chain(16, 256, 1024).to(device)
    inputs = torch.randn(32, 256, device=device)  # [batch, width]
    step_in_backward(inside, makers["AdamW"])
    peaks = {"step after backward": measure_peak_memory(**make_update(makers["AdamW"], 32))}
    peaks["step inside"] = measure_peak_memory(lambda: inside(inputs).square().mean().backward(), model=inside)
    draw_bars(peaks, title="AdamW, 16 blocks, 32 rows")


look(compare_peaks)

# %% check="check_adam_in_backward" points=1
check_adam_in_backward(step_in_backward)

# %% check="check_adam_backward_peak" points=1
check_adam_backward_peak(step_in_backward)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what are the last two lines of your usual loop, for a model with a single parameter?<br>
# Then: each hook needs an optimizer that holds its parameter. A variable that changes in a loop is read when the hook
# runs, not when it is registered.
# </details>

# %% [markdown]
# The 32 MiB of gradients are gone from the peak, which saves 27 MiB. The old peak was in the update, when no
# activations were held any more. The new one is inside the backward pass, which holds activations, the one gradient in
# use and buffers at the same time. With the larger batch of the check, activations are a larger part of the peak, so
# the saved fraction is smaller.
#
# The price is that no gradient is kept, so nothing can be done with all of them together. Clipping by the global norm
# and accumulation need all gradients, and so does a scaler that skips a step.

# %% [markdown]
# ## Further: bug hunt
#
# This published function computes the size of an optimizer's state. It is called with `optimizer.state.values()`.
#
# ```python
# def compute_optimizer_size(optimizer_state):
#     total_size_megabytes, total_num_elements = 0, 0
#     for params in optimizer_state:
#         for name, tensor in params.items():
#             tensor = torch.tensor(tensor)
#             num_elements = tensor.numel()
#             element_size = tensor.element_size()
#             total_num_elements += num_elements
#             total_size_megabytes += num_elements * element_size / (1024 ** 2)
#     return total_size_megabytes, total_num_elements
# ```
#
# Find four faults. One costs memory, two count what does not exist, and one is a name.
#
# <details><summary>The four faults</summary>
# `torch.tensor` copies every state, and warns. A step count that is a plain int becomes a tensor of 8 bytes. A tensor
# that many parameters share is counted for each of them. The result is in MiB but is called MB.
# </details>

# %% [markdown]
# **Exercise.** Write the function so that it works for every optimizer.
#
# *Contract.*
# - Return two plain numbers, elements and bytes; both are 0 without state. Only tensors count.
# - Each **storage** counts once, with all its bytes, also where several tensors are views of it. Its elements are its
#   bytes divided by the `element_size()` of its tensors, which share one format.
# - Copy, move and change nothing. An entry of the state may be None.
# - Write it yourself, without the meters of `grader`.
#
# The check uses AdamW with two groups, SGD, an optimizer before its first step, and one that packs and shares its
# state.

# %% tags=["given"]
from grader import check_state_count


# %% exercise="count_state"
def count_state(optimizer) -> tuple[int, int]:
    """Count the state of an optimizer, each storage once.

    Args:
        optimizer: Its `state` has a dict for each parameter; entries may be tensors, numbers, texts or None.

    Returns:
        Elements and bytes.
    """
    ### BEGIN SOLUTION
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
    ### END SOLUTION


# %%
look(count_state, optimizer)

# %% check="check_state_count" points=1
check_state_count(count_state)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: lesson 01 asked which tensors share a storage. What identifies a storage?<br>
# Then: a dict with one entry for each storage counts it once, however often the entry is written.
# </details>

# %% [markdown]
# ## Further: what the second moment forgets
#
# `beta2 = 0.999` averages over about 1,000 steps, 0.95 over 20. Suppose that one gradient of 100 occurs among
# gradients of 1. Before you run the cell: how long are the steps 100 and 1,000 steps later? The last two lines of its
# output compare the state of one parameter in float32 and in bfloat16, after one gradient with a square of 500 and
# then 3,750 gradients of 0.

# %%
spiked = torch.ones(2000, 3, 4, device=device)
spiked[999] = 100.0
for beta2 in (0.999, 0.95):
    places = run_torch(torch.optim.Adam, spiked, lr=1e-3, betas=(0.9, beta2))[:, 0, 0]
    steps = (places[:-1] - places[1:]) / 1e-3
    print(
        f"beta2 {beta2}: step lengths 100, 200 and 1,000 steps later", *(f"{steps[i]:.2f}" for i in (1098, 1198, 1998))
    )
for dtype in (torch.float32, torch.bfloat16):
    weight = torch.nn.Parameter(torch.zeros(1, dtype=dtype, device=device))
    optimizer = torch.optim.AdamW([weight])
    for step in range(3751):
        weight.grad = torch.full_like(weight, 500**0.5 if step == 0 else 0.0)
        optimizer.step()
    print(f"second moment in {dtype}: {optimizer.state[weight]['exp_avg_sq'].item():.4f}")

# %% [markdown]
# With 0.999, one bad batch still shortens the steps to less than half 1,000 steps later; with 0.95 the steps recover
# within 200. GPT-3 was trained with 0.95. The choice matters where gradients have spikes or change in size quickly.
#
# A 16-bit parameter has a 16-bit state. In bfloat16, 0.999 times a number rounds back to that number, so the second
# moment **stalls**: it never forgets. This is one reason for 32-bit master weights.

# %% [markdown]
# ## Further: Muon
#
# *Muon* keeps **one** moment, of gradients, and makes it nearly orthogonal by five steps of a *Newton-Schulz*
# iteration, so that all directions of the update get about the same length. That is defined for matrices only. The
# hidden matrices therefore go to `torch.optim.Muon`, and embeddings, the last layer, biases and normalisations go to
# AdamW.

# %%
chain = make_chain(16, 256, 1024).to(device)
for parameter in chain.parameters():
    parameter.grad = torch.randn_like(parameter)
matrices, others = ([p for p in chain.parameters() if (p.dim() == 2) == is_matrix] for is_matrix in (True, False))
pairs = {"AdamW": [torch.optim.AdamW(chain.parameters())]}
pairs["Muon and AdamW"] = [torch.optim.Muon(matrices), torch.optim.AdamW(others)]
for name, optimizers in pairs.items():
    for optimizer in optimizers:
        optimizer.step()
    print(f"{name:<15} {sum(map(optimizer_state_bytes, optimizers)):>11,} bytes of state")


def adamw_update():
    pairs["AdamW"][0].step()


def muon_update():
    pairs["Muon and AdamW"][0].step()


print(measure_step_time(adamw_update, muon_update, run_count=3, warm_up_count=1))

# %% [markdown]
# Muon keeps half the state. Its step multiplies matrices, so it takes longer, as the times above show.
#
# ## Further: AdaGrad, the origin
#
# AdaGrad (2011) divides by the root of the **sum** of all squared gradients. A sum only grows, so the steps get
# shorter and shorter: after `t` equal gradients a step is `lr / sqrt(t)` long. RMSProp replaced the sum by a mean that
# forgets. Adam corrected the bias at its start, and AdamW took the decay out of the gradient. The next cell measures
# AdaGrad's steps.


# %%
def adagrad_update(weight, gradient, state, lr, eps=1e-10):
    if not state:
        state["square_sum"] = torch.zeros_like(weight)
    state["square_sum"].addcmul_(gradient, gradient)
    weight -= lr * gradient / (state["square_sum"].sqrt() + eps)


difference = run_by_hand(adagrad_update, gradients, lr=0.1) - run_torch(torch.optim.Adagrad, gradients, lr=0.1)
print(f"AdaGrad: largest difference to torch after 20 steps: {float(difference.abs().max()):.1e}")
values = step_lengths(adagrad_update)
print("step lengths at steps 1, 4, 100, 1000:", *(f"{values[step - 1]:.3f}" for step in (1, 4, 100, 1000)))
fresh = torch.optim.Adagrad(make_chain(2, 8, 32).parameters())
print(f"PyTorch's AdaGrad before its first step: {optimizer_state_bytes(fresh)} bytes of state")

# %% [markdown]
# PyTorch's AdaGrad makes its state when it is constructed, but the other optimizers make theirs at the first step. A
# model that loads is therefore no proof that the second step fits.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>How many bytes of state does AdamW keep for a model with P float32 parameters?</summary>
# 8 P, and 4 more for each tensor.
# </details>
# <details><summary>What are the two moments divided by, and why?</summary>
# By 1 - beta**t: they start at zero, so the coefficients in each mean add up to only that share.
# </details>
# <details><summary>Your loss falls well under AdamW. What does that show about the scale of your gradients?</summary>
# Nothing: AdamW divides a constant factor out.
# </details>
#
# **Takeaway: AdamW pays for steps of equal length with a state of twice the model's size.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 07, Adafactor.

# %% [markdown]
# **Sources**
# - [Kingma and Ba, Adam][adam]: moments, bias correction, the place of epsilon.
# - [Loshchilov and Hutter, decoupled weight decay][adamw]: why the decay stays out of the gradient.
# - [Duchi, Hazan and Singer, AdaGrad][adagrad]: the sum of squares.
# - [PyTorch, AdamW][torch]: `foreach`, `fused`, and which of them is the default.
# - [PyTorch, optimizer step in backward][inside]: the hook.
# - [Brown et al., GPT-3][gpt3], appendix B: beta2 = 0.95.
# - [PyTorch, Muon][muon]: one moment, Newton-Schulz, and the parameters that it is for.
# - [Efficient training on a single GPU][guide]: the groups whose decay is 0.0.
# - *Efficient AI model training with PyTorch*, slides: the size function of the bug hunt.
#
# [adam]: https://arxiv.org/abs/1412.6980
# [adamw]: https://arxiv.org/abs/1711.05101
# [adagrad]: https://jmlr.org/papers/v12/duchi11a.html
# [torch]: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
# [gpt3]: https://arxiv.org/abs/2005.14165
# [muon]: https://docs.pytorch.org/docs/stable/generated/torch.optim.Muon.html
# [inside]: https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
