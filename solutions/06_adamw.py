# %% [markdown]
# # 6. AdamW
#
# You write AdamW, predict what it remembers to the byte, and take gradients out of its peak.
#
# 55 min (estimated) · CPU is enough · after lesson 05

# %% [markdown]
# **You will be able to**
# - predict the bytes of an optimizer's state from its update rule;
# - complete Adam from RMSProp, with both bias corrections;
# - write AdamW for groups of parameters, equal to PyTorch's over 20 steps.

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
# <details><summary>Mixed precision trains with 16-bit weights in some recipes. What are master weights for?</summary>
# They are a 32-bit copy. Small updates would be rounded away in 16 bits.
# </details>
# <details><summary>What does gradient checkpointing trade?</summary>
# Memory of activations for a second forward of each segment.
# </details>

# %% [markdown]
# **The problem.** DistilBERT has 65,783,042 parameters in 104 tensors. In float32 they take 250.9 MiB.
#
# You train it with plain SGD, and it fits. You change one line, `torch.optim.AdamW(...)`, and the GPU runs out of
# memory. No batch is larger, no layer is new. What does AdamW hold that SGD does not, and what does it buy?

# %% [markdown]
# ## Four rules
#
# An optimizer is a rule: it turns a gradient `g` into a change of a weight `w`. All are computed number by number.
#
# | optimizer | rule at step `t` |
# |---|---|
# | SGD | `w -= lr * g` |
# | SGD with momentum | `v = mu * v + g`, then `w -= lr * v` |
# | RMSProp | `s = alpha * s + (1 - alpha) * g**2`, then `w -= lr * g / (sqrt(s) + eps)` |
# | AdamW | `w -= lr * decay * w`, then `w -= lr * (m / share1) / (sqrt(s / share2) + eps)` |
#
# AdamW's `m = beta1 * m + (1 - beta1) * g` is a mean of gradients. Its `s` is RMSProp's, with `beta2` for `alpha`. A
# share is `1 - beta**t`, computed anew at each step.


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
    """The same with an optimizer of PyTorch."""
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
# The first two are worked. `state` is a dict that survives from step to step: what a rule carries on, it keeps there.
# The next cell takes 20 steps and compares the weights with PyTorch's.

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
# What a rule needs again at the next step is its **state**. Read the four rules once more. Which letters are carried
# on?
#
# Three facts about PyTorch:
#
# - What is carried on has the shape of its parameter, and its number format.
# - RMSProp and AdamW also count their steps: one float32 number for **each tensor**. `SGD` does not count.
# - A tensor without gradient is skipped. A frozen one never has any state.

# %% [markdown]
# *Contract.* `parameters` is what the optimizer is handed. `optimizer` is one of the four names of the table. Return
# the bytes of its state after the first step. It is judged to the byte: on DistilBERT, and on lists with frozen
# tensors and with 16-bit tensors. Those have a shape, and neither values nor a `.grad`, so no optimizer could run:
# compute it. A float that equals the integer will do. The list and its parameters stay as they are.


# %% exercise="predict_optimizer_state"
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    """Bytes that an optimizer keeps from step to step.

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
# First: take one Linear(3, 4). It has two tensors. Write the state of each rule for it as a list of tensors.<br>
# Then: which parts grow with the numbers in a tensor, and which with the number of tensors?
# </details>

# %% [markdown]
# **Run.** Now DistilBERT. Each optimizer takes one step with gradients of zero: they have the size of real ones. The
# meter counts tensors, each storage once.

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
    beside = f"predicted {predicted:>11,}" if predicted is not None else ""
    measured_bytes = optimizer_state_bytes(optimizer)
    print(f"{name:<18} {optimizer_state_elements(optimizer):>11,} elements {measured_bytes:>11,} bytes", end=" ")
    print(f"{measured_bytes / MIB:>7.2f} MiB  {beside}")
del model, optimizer, parameter

# %% [markdown]
# **Investigate.** AdamW keeps two numbers for each parameter: 2 x 65,783,042. Two float32 numbers for each would be
# 526,264,336 bytes. The meter shows 526,264,752 bytes. The 416 bytes between them are 104 step counters of 4 bytes.
#
# In words: *the state is the number of moments times the trained parameters, in their format. RMSProp and AdamW add one
# counter for each trained tensor.*
#
# **Names.** *Optimizer state*. AdamW's `m` and `s` are the *first* and the *second moment*, in PyTorch `exp_avg` and
# `exp_avg_sq`. They are no derivatives: `s` is a mean of squared gradients. 501.89 *MiB* are 526.26 *MB*; many tools
# print MiB and write MB.

# %% [markdown]
# Do the bytes show in the peak of a training step? You know the chain of lesson 01: 16 blocks, 512 rows, 32.1 MiB of
# parameters. Before you run the cell: how far apart are the three bars?


# %%
from grader import draw_bars


def make_update(make_optimizer, batch_size: int) -> dict:
    """One update of the chain, as measure_peak_memory takes it."""
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
# Each moment costs once the parameters: 32.1 MiB. State is there for the whole step, whatever the batch is. So the
# problem has its answer. AdamW holds two more models, from the first step on: the first forward still fits, the
# second one does not.
#
# <details><summary>Explain in one sentence: why does a smaller batch not help against optimizer state?</summary>
# State has the size of the parameters: no row of the batch is in it.
# </details>

# %% [markdown]
# ## Complete: Adam from RMSProp
#
# What does the second moment buy? RMSProp divides each gradient by the root of its recent mean square. So a weight
# with gradients of 0.001 moves as far as one with gradients of 10. RMSProp is worked.

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
    """How far each step moves a weight whose gradient is always 1, in units of the learning rate."""
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
# as long. Its mean starts at zero. After one step it is `(1 - alpha) * 1 = 0.01`, and the root of that is 0.1.
#
# Adam corrects this **bias**. After `t` steps, a mean that started at zero has seen only a share `1 - beta**t` of its
# weight. Divided by this share, it is a true mean from the first step on.
#
# Adam also takes a mean of the gradients, with `beta1`, in place of the gradient itself. It starts at zero too.

# %% [markdown]
# **Exercise.** Complete Adam. The state and the step count are there.
#
# *Contract.* Update both moments in `state`, correct them, and change `weight` in place. Moments keep the format of the
# weight. What is corrected is used and not kept. `eps` is added to the root of the corrected second moment. The
# gradient stays as it is. By hand: without an optimizer of PyTorch. It is judged by the weights after each of 20 steps,
# with other betas, with an `eps` that counts, and on tensors of other shapes.


# %% exercise="adam_update"
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    """Take one step of Adam with one tensor, by hand.

    Args:
        weight: Changed in place; any shape.
        gradient: Of the same shape.
        state: Empty at the first step; what it holds comes back at the next one.
        lr: Learning rate.
        betas: Decay rates of the first and of the second moment.
        eps: Added to the root.
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
# First: take a gradient of 1 and write down both moments after step 1, and what each has to be divided by to be 1.<br>
# Then: RMSProp's two lines are there. Which line is new, and which two names does the last line use instead?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: uncorrected, Adam's first step is 3.16 times too long. Why?</summary>
# The first moment is 0.1 of the gradient and the root of the second is 0.0316 of it: their ratio is 3.16.
# </details>
#
# **Modify.** Call `step_lengths(adam_update, betas=(0.9, 0.9))[:3]`. Before you do: is the first step longer, shorter,
# or as long as before?
#
# <details><summary>Answer</summary>
# As long as before: one learning rate. Each moment is divided by its own share, so the betas cancel.
# </details>

# %% [markdown]
# ## Write: AdamW
#
# **Weight decay** pulls each weight towards zero. In SGD it does not matter how: `lr * decay * w` taken from the
# weight, or `decay * w` added to the gradient. In Adam it does. What is added to the gradient passes through both
# moments, and is divided by the root of the second.
#
# Here are two weights of 1.0. The gradient of the first changes between 10 and -10, that of the second between 0.1 and
# -0.1: these steps nearly cancel. Decay alone would leave `(1 - 0.01 * 0.1)**200` of each. Before you run the cell:
# which of them does Adam let decay less?

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
# With `Adam` the weight with large gradients hardly decays, and the other one far too much. With `AdamW` both decay
# alike. They end a little below decay alone, since the first steps are the largest and do not cancel.
#
# The W says that the decay is **decoupled**: first `w *= 1 - lr * weight_decay`, then Adam's step.
#
# PyTorch's optimizers work on **groups** of parameters. Each group is a dict with its own options. `OwnOptimizer` is
# such an optimizer, and its step is a function of yours: `OwnOptimizer(adamw_step, parameters, lr=1e-3)`.

# %% tags=["given"]
from grader import OwnOptimizer, check_adamw_steps

layer = torch.nn.Linear(3, 2).to(device)
groups = [{"params": [layer.weight], "weight_decay": 0.1}, {"params": [layer.bias], "weight_decay": 0.0}]
example = OwnOptimizer(lambda optimizer: None, groups, lr=1e-3)
for group in example.param_groups:
    print({name: value for name, value in group.items() if name != "params"}, [p.shape for p in group["params"]])
print(f"state of the first parameter: {example.state[layer.weight]}")

# %% [markdown]
# **Exercise.** Write AdamW's step. The cell is empty but for its contract.
#
# *Contract.* Go through `optimizer.param_groups`. A group has its own `"params"`, `"lr"`, `"betas"`, `"eps"` and
# `"weight_decay"`; read them at each step, since a schedule may change each. A parameter whose `.grad` is None is
# skipped: it does not decay, and its state stays as it is. `optimizer.state[parameter]` is an empty dict at first. It
# keeps two moments, in the parameter's format, and that parameter's own step count. Change parameters in place, and
# nothing else; gradients are not recorded here. By hand: without an optimizer of PyTorch.
#
# It is judged by the weights after each of 20 steps, with several groups, and by the bytes of the state.


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
# Then: one line is left. It acts on the weight before Adam's step, and no moment sees it.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: what does decoupled mean?</summary>
# The decay shrinks the weight itself, so neither its gradient nor the moments change how much.
# </details>
#
# ## What AdamW hides
#
# A loop forgets to divide by the number of micro-batches: each gradient is 4 times too large. Before you run the
# cell: how far from the right run does SGD end after 20 updates, and how far AdamW? Measure it as a share of the way
# that the right run went.

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
# SGD goes 4 times as far, so it ends about 3 ways from where it should. AdamW divides the factor out: `m` is 4 times
# as large, and so is the root of `s`. Only `eps` does not scale.
#
# So AdamW forgives a wrong scale, and it **hides** it. A loss curve under AdamW cannot tell whether your accumulation
# divides. Compare gradients, or weights under SGD. What AdamW does not hide is a wrong mix: some groups scaled, and
# others not.

# %% [markdown]
# ## A real run
#
# The task: do two sentences have the same subject? A small BERT learns it from 2,400 pairs in 2 epochs. *F1* is the
# harmonic mean of precision and recall; 1 is perfect. The cell takes about 10 seconds.

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
# Keep the three numbers: loss, F1 and state. Lesson 07 and lesson 08 train the same classifier with a fraction of
# this state.
#
# ## The price
#
# PyTorch has AdamW three times, with the same steps. The **loop** goes from tensor to tensor. `foreach=True` runs
# each operation for all tensors at once. `fused=True` runs the whole update in one kernel. The next cell takes 32
# rows, so that the peak lies in the update.

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
# DistilBERT that is a quarter of a GiB at every update. `fused` holds no buffer, so its peak is no longer in the update
# but at the end of backward. It is the default of the Trainer, `optim="adamw_torch_fused"`.
#
# | | buffers | on a GPU, by PyTorch's documentation |
# |---|---|---|
# | loop | of one tensor at a time | slowest: many small kernels |
# | foreach | of all parameters | faster; the default |
# | fused | none | fastest |

# %% [markdown] tags=["further"]
# ## Further: two groups, three forms
#
# Biases and the weights of normalisations are usually not decayed. A published guide builds two groups for that, and
# takes the decay from the Trainer's arguments. Before you run the cell: what are the two decays?

# %% tags=["given"]
import contextlib
import io

from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from grader import check_adamw_accelerate_form, check_adamw_trainer_form

same_run = {"output_dir": "trainer_output", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
same_run |= {"train_sampling_strategy": "sequential", "num_train_epochs": 1, "report_to": "none"}
same_run |= {"save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True, "dataloader_pin_memory": False}


def train_raw(model, optimizer, dataset, rows: int) -> None:
    """The reference: one update for each batch of so many rows, in order."""
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %%
arguments = TrainingArguments(output_dir="trainer_output")
published = [{"weight_decay": arguments.weight_decay}, {"weight_decay": 0.0}]
print("weight_decay of the published groups:", [group["weight_decay"] for group in published])
print("optim of the Trainer:", arguments.optim)

# %% [markdown]
# Both are 0.0: nothing decays, and the groups do not differ. `AdamW` itself has a default of 0.01, for all
# parameters alike. So the three forms start with three habits.

# %% [markdown]
# **Exercise.** Train one model with Accelerate and one with the Trainer, both equal to `train_raw` with two groups.
#
# *Contract.* Parameters of two and more dimensions, matrices and embeddings, decay by `weight_decay`. The others do
# not decay; any rule that finds them will do. AdamW with its default betas and epsilon, constant `lr`, one epoch in
# order and in training mode, one update for each batch of `rows` rows. The last batch may be short. `same_run` holds
# the other arguments for the Trainer. Nothing is returned. It is judged by the gradients, the options and the weights
# at every update.


# %% exercise="train_decay_forms"
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    """Train one model with Accelerate and one with the Trainer, with AdamW and two groups.

    Args:
        accelerate_model: Trained by a loop with Accelerate; returns an output with .loss.
        trainer_model: Trained by the Trainer, from the same weights.
        dataset: Rows as the models take them, labels included.
        rows: Rows of an update.
        lr: Learning rate, constant.
        weight_decay: Of matrices and embeddings.
    """
    ### BEGIN SOLUTION
    decayed = [parameter for parameter in accelerate_model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in accelerate_model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    model, optimizer, loader = Accelerator().prepare(
        accelerate_model, torch.optim.AdamW(groups, lr=lr), DataLoader(dataset, batch_size=rows)
    )
    for batch in loader:
        Accelerator().backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": lr, "weight_decay": weight_decay}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    ### END SOLUTION


# %%
def report_distances():
    raw, with_accelerate, with_trainer, start = (make_pair_classifier().to(device) for _ in range(4))
    matrices, others = ([p for p in raw.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    few_pairs = training.select(range(40))
    train_raw(raw, torch.optim.AdamW(groups, lr=1e-3), few_pairs, 8)
    with contextlib.redirect_stdout(io.StringIO()):  # the Trainer prints a line for each run
        train_decay_forms(with_accelerate, with_trainer, few_pairs, 8, 1e-3, 0.1)
    print(f"Accelerate ends {measure_weight_distance(with_accelerate, raw, start):.1e} away from the raw loop")
    print(f"Trainer ends {measure_weight_distance(with_trainer, raw, start):.1e} away from the raw loop")


look(report_distances)

# %% check="check_adamw_accelerate_form" points=1
check_adamw_accelerate_form(train_decay_forms)

# %% check="check_adamw_trainer_form" points=1
check_adamw_trainer_form(train_decay_forms)

# %% [markdown]
# A right Trainer does not end at 0 here, but near 1e-3. Its AdamW is fused and rounds otherwise. AdamW takes full steps
# from gradients that are nearly zero, so it makes rounding visible. The check shows a far smaller number, for it
# measures another distance: from where AdamW leads with the very gradients that your Trainer had.

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what is the number of dimensions of a weight matrix, of an embedding, of a bias, of a normalisation's weight?
# <br>
# Then: the Trainer builds two such groups by itself. Which argument does it take the decay from?
# </details>

# %% [markdown]
# ## Further: the step inside backward
#
# At the end of backward, all gradients are there at once: as much as the parameters. But an optimizer needs them one
# by one. `parameter.register_post_accumulate_grad_hook(hook)` calls `hook(parameter)` as soon as the gradient of that
# parameter is in `.grad`. A hook may update the weight at once, and free the gradient.

# %% [markdown]
# **Exercise.** Prepare a model so that `loss.backward()` alone trains it.
#
# *Contract.* After your function, each backward updates every parameter that has `requires_grad`. The optimizers are
# those that `make_optimizer([...])` makes: each parameter is handed to it once. Gradients are taken as they are, and no
# gradient is kept longer than needed. Frozen parameters stay frozen. It is judged by the weights after each backward,
# on a model with frozen and with shared weights too, and by the peak: at most 92 % of backward, step and `zero_grad`
# with AdamW.

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
# Then: each hook needs an optimizer that holds its parameter. A name that changes in a loop is read when the hook runs.
# </details>

# %% [markdown]
# The gradients of 32 MiB are gone from the peak, and 27 MiB are saved. The old peak was at the update, when the
# activations were gone. The new one is inside backward: activations, the one gradient in use and buffers are there
# together. With the larger batch of the check, activations are a larger part of the peak, so the share saved is
# smaller.
#
# The price: no gradient waits, so nothing can be done with all of them together. Clipping by the global norm and
# accumulation need all gradients. So does a scaler that skips a step.

# %% [markdown]
# ## Further: bug hunt
#
# This published function computes the size of an optimizer's state. It takes `optimizer.state.values()`.
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
# Find four faults. One costs memory, two count what is not there, and one is a name.
#
# <details><summary>The four faults</summary>
# torch.tensor copies every state, and warns. A step count that is a plain int becomes a tensor of 8 bytes. A tensor
# that many parameters share is counted for each of them. The result is in MiB and is called MB.
# </details>

# %% [markdown]
# **Exercise.** Write it so that it holds for every optimizer.
#
# *Contract.* Return two plain numbers: elements, then bytes; a float that equals the integer will do. Only tensors
# count. Each **storage** counts once, with all its bytes, also where several tensors are views of it. Its elements are
# its bytes over the `element_size()` of its tensor. Nothing is copied, moved or changed. Without state both are 0.
# Write it yourself, without the meters of `grader`. It is judged on AdamW with two groups, on SGD, before the first
# step, and on an optimizer that packs and shares its state.

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
# Then: a dict with one entry for each storage counts it once, however often it is written.
# </details>

# %% [markdown]
# ## Further: AdaGrad, where it came from
#
# AdaGrad (2011) divides by the root of the **sum** of all squared gradients. A sum only grows, so steps get shorter
# and shorter: after `t` equal gradients a step is `lr / sqrt(t)` long. RMSProp replaced the sum by a mean that
# forgets. Adam corrected its start, AdamW took the decay out. The next cell measures AdaGrad's steps.


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
# PyTorch's AdaGrad makes its state when it is built. The others make theirs at the first step. So a model that loads
# is no proof that the second step fits.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>How many bytes of state does AdamW keep for a model with P float32 parameters?</summary>
# 8 P, and 4 for each tensor.
# </details>
# <details><summary>What are the two moments divided by, and why?</summary>
# By 1 - beta**t: they start at zero, and have seen only that share of their weight.
# </details>
# <details><summary>Your loss falls well under AdamW. What does that say about the scale of your gradients?</summary>
# Nothing: AdamW divides a constant factor out.
# </details>
#
# **Takeaway: AdamW buys steps of equal length with two more models in memory.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 07, Adafactor.

# %% [markdown]
# **Sources**
# - [Kingma and Ba, Adam][adam]: moments, bias correction, the place of epsilon.
# - [Loshchilov and Hutter, decoupled weight decay][adamw]: why the decay stays out of the gradient.
# - [Duchi, Hazan and Singer, AdaGrad][adagrad]: the sum of squares.
# - [PyTorch, AdamW][torch]: `foreach`, `fused`, and which of them is the default.
# - [PyTorch, optimizer step in backward][inside]: the hook.
# - [Efficient training on a single GPU][guide]: the groups whose decay is 0.0.
# - *Efficient AI model training with PyTorch*, slides: the size function of the bug hunt.
#
# [adam]: https://arxiv.org/abs/1412.6980
# [adamw]: https://arxiv.org/abs/1711.05101
# [adagrad]: https://jmlr.org/papers/v12/duchi11a.html
# [torch]: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
# [inside]: https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
