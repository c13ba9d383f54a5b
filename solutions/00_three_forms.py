# %% [markdown]
# # 0. Three forms of one training run
#
# You train one model in raw PyTorch, with Accelerate and with the Trainer, and you find out why the three runs end
# with different weights.
#
# 50 min (estimated) · CPU is enough · the first lesson
#
# Run the cells from the top. Where a cell says `YOUR CODE HERE`, write your answer, run the cell, then run the check
# below it. Run All stops at the first check of an unsolved exercise; that is expected. A restarted kernel has lost
# every name, which shows as a `NameError`: run all cells above the one where you want to continue, with the menu
# *Run*, or in Colab with *Runtime, Run before*.

# %% [markdown]
# **Rules for every exercise of the course.** Later lessons do not repeat them.
#
# - A check calls your function several times, also on sizes, shapes and settings that the notebook does not show.
# - A failed check prints three lines: what it expected, what it measured, and what you probably did.
# - Call `model(...)`, not `model.forward(...)`. Call `loss.backward()` before `optimizer.step()`, and pass no closure
#   to `step`. Checks, Accelerate and distributed training rely on hooks, which other calls skip.
# - Where the task says "by hand", the library call that does the task raises an error during the check.
# - The section Further is optional: its points are not part of the mark.

# %% [markdown] objectives="1; 2; 3 4"
# **You will be able to**
# - predict which defaults of the Trainer change the result of a run;
# - write the loop that all three forms contain;
# - make Accelerate and the Trainer end with the same weights as your loop.

# %% tags=["given"]
from grader import check_breaking_defaults, look

# %% [markdown]
# ## Predict: which defaults change the result
#
# You know the training loop: rows go in, a gradient comes out, and an optimizer moves the weights. The Hugging Face
# **Trainer** runs that loop for you, but it also makes decisions that you did not ask for.
#
# Your loop is plain: SGD with a constant learning rate, rows in their given order, one epoch. Three defaults of the
# Trainer differ from it:
#
# | key | what the Trainer does |
# |---|---|
# | `"sampling"` | draws the rows of an epoch in random order |
# | `"clipping"` | scales a gradient of norm above 1.0 down to norm 1.0 |
# | `"schedule"` | lowers the learning rate: update `i` of `n`, counted from 0, uses `(1 - i / n)` of it |

# %% [markdown]
# **Exercise.** Suppose that **only one** of these defaults is turned on. Does the epoch then end with other weights
# than your loop? That depends on the run, so write a function that decides it.
#
# *Contract.*
# - `updates` is `n`, the number of updates in the epoch; no two of them read the same row.
# - `largest_gradient_norm` is the largest norm that the gradient of your loop has at any update.
# - For each key, return `True` if that default alone changes the final weights. Rounding errors do not count.
#
# One to three lines are enough. The check asks about other runs.


# %% exercise="breaking_defaults"
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    """Decide which defaults of the Trainer, each turned on alone, change the weights after one epoch.

    Args:
        updates: Updates in the epoch; each reads rows that no other update reads.
        largest_gradient_norm: Largest norm of the gradient at any update; never exactly 1.

    Returns:
        True or False for each of the keys "sampling", "clipping" and "schedule".
    """
    ### BEGIN SOLUTION
    return {"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates > 1}
    ### END SOLUTION


# %%
look(breaking_defaults, 8, 53.6)  # a run that you will meet below: 8 updates, the largest norm is 53.6

# %% check="check_breaking_defaults" points=2
check_breaking_defaults(breaking_defaults)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take a small run and write down, for every update, its rows, its learning rate and what clipping does.<br>
# Then: for each default, look for the runs in which it changes nothing. What do these runs have in common?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why do two of the three change nothing in a run of one update?</summary>
# The only gradient is the mean over all rows, whatever their order, and update 0 of 1 uses the full learning rate.
# </details>

# %% [markdown]
# **Are you ready?** Five questions, no points. If an answer surprises you, follow its link to read up on it.
#
# <details><summary>1. What does loss.backward() change?</summary>
# It adds a gradient to the `.grad` of every parameter. It does not change any weight. [Autograd][autograd]
# </details>
# <details><summary>2. How many numbers does nn.Linear(256, 1024) hold?</summary>
# A weight [1024, 256] and a bias [1024]: 263,168 numbers. [nn.Linear][linear]
# </details>
# <details><summary>3. A gradient has the elements 3 and 4. What is its norm?</summary>
# 5, the square root of 9 + 16. [Vector norm][norm]
# </details>
#
# [autograd]: https://docs.pytorch.org/tutorials/beginner/basics/autogradqs_tutorial.html
# [linear]: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
# [norm]: https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html

# %% [markdown]
# <details><summary>4. What does model.eval() turn off?</summary>
# Dropout, and the update of the running statistics in batch normalisation. Gradients are still computed.
# [Module.eval][eval]
# </details>
# <details><summary>5. One file has 1 MB and another has 1 MiB. Which is larger?</summary>
# 1 MiB: 2**20 = 1,048,576 bytes, 4.9 % more than 1 MB. This course writes MiB. [Binary prefixes][prefixes]
# </details>
#
# [eval]: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
# [prefixes]: https://physics.nist.gov/cuu/Units/binary.html

# %% [markdown]
# **The problem.** A team moves its training from a raw loop to the Trainer. The model, the data, the rows per update
# and the number of epochs stay the same, and nobody sets any other option. Is it still the same training?
#
# On a scale where 0 means equal weights and 1 means as far apart as without any training, the two runs end 1.00 apart.
# Both runs did train, and no warning reports the difference.

# %% tags=["given"]
import torch
from torch.utils.data import DataLoader

from grader import device_name, lesson_device, make_pair_classifier, make_sentence_pairs, make_tokenizer, tokenize_pairs

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")
pairs = tokenize_pairs(make_sentence_pairs(pairs=64), make_tokenizer())

# %% [markdown]
# **The data** are 64 pairs of sentences. The label says whether both sentences are about the same subject. The pairs
# and the tokenizer are generated here from a seed; `load_sentence_pairs` would load a published data set instead.
#
# **The model** is a BERT classifier with two layers of width 128. Its dropout is 0, so that two runs can be equal.

# %%
print(make_sentence_pairs(pairs=64)[0])
batch = next(iter(DataLoader(pairs, batch_size=8)))
for name, values in batch.items():
    print(f"{name:<15} {list(values.shape)!s:<9} first row: {values[0].tolist()}")
print(f"parameters: {sum(parameter.numel() for parameter in make_pair_classifier().parameters()):,}")

# %% [markdown]
# Sentences differ in length, but a batch is a rectangular tensor, so short pairs are filled up with padding. At padded
# positions `attention_mask` is 0, and the model ignores them. `token_type_ids` is 0 in the first sentence and 1 in the
# second.

# %% [markdown]
# ## Complete: the loop
#
# Here is a worked example that trains a single number. The loss is `(3w - 6)²`. At `w = 1` its slope is
# `2 * 3 * (3 - 6) = -18`, so one update with a learning rate of 0.1 moves `w` to `1 + 1.8 = 2.8`.

# %%
weight = torch.tensor(1.0, requires_grad=True)
sgd = torch.optim.SGD([weight], lr=0.1)
for update in range(2):
    sgd.zero_grad()  # .grad is None again; without this line the slopes of all updates add up
    loss = (3 * weight - 6) ** 2
    loss.backward()  # .grad is the slope; the weight stays
    sgd.step()  # the weight moves
    print(f"update {update}: loss {loss.item():.2f}, slope {weight.grad.item():.1f}, weight now {weight.item():.2f}")

# %% [markdown]
# **Exercise.** Fill in the body of the loop for the classifier.
#
# *Contract.*
# - For each batch, run one forward pass on all of its columns and one update with the given optimizer.
# - `model(**batch)` takes the columns by name and returns an output whose `.loss` is the mean over the rows.
# - The gradient of each update comes from its own batch alone.
# - The model may be on a GPU, at `model.device`, while batches arrive on the CPU.
# - `losses` holds one plain number for each update, without a graph.
#
# Write it by hand, without Accelerate or the Trainer.


# %% exercise="train_raw"
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    """Train one epoch with plain SGD, in raw PyTorch, by hand.

    Args:
        model: A classifier that takes a batch by keyword and returns an output with .loss; it may be in eval mode.
        dataset: Rows with the columns that the model takes: input_ids, token_type_ids, attention_mask, labels.
        rows: Rows of each update; the last update may have fewer.
        learning_rate: Constant learning rate of SGD.

    Returns:
        The loss of each update, as plain numbers.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
        ### BEGIN SOLUTION
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        ### END SOLUTION
    return losses


# %%
raw_model = make_pair_classifier().to(device)
raw_losses = look(train_raw, raw_model, pairs, 8, 0.01)
print(f"losses: {[round(float(loss), 3) for loss in raw_losses or []]}")

# %% tags=["given"]
from grader import check_raw_updates

# %% check="check_raw_updates" points=2
check_raw_updates(train_raw)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the worked example repeats four steps. Which of them changes for a model with inputs?<br>
# Then: each batch needs two more things. It has to be moved to the model's device, and its loss has to be kept as a
# number.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why does the list keep numbers instead of the loss tensors?</summary>
# A loss tensor holds its graph, and the graph holds what the forward pass saved: lesson 01 shows what that costs.
# </details>

# %% [markdown]
# ## Run: the Trainer as it comes
#
# Now the Trainer trains the same epoch, with only the necessary settings: the rows per update, one epoch, and no files
# or logs.
#
# On a machine with several visible GPUs the Trainer silently wraps the model in `DataParallel`, which multiplies the
# rows per update by the number of GPUs. Set `CUDA_VISIBLE_DEVICES=0` before you compare forms on such a machine.

# %% tags=["given"]
from transformers import PrinterCallback, Trainer, TrainingArguments

quiet = {"output_dir": "trainer_output", "report_to": "none", "save_strategy": "no", "disable_tqdm": True}
quiet |= {"logging_strategy": "no", "dataloader_pin_memory": False}


def run_trainer(model, rows: int = 8, **arguments) -> Trainer:
    """Train one epoch with the Trainer; every argument that is not given keeps the Trainer's default."""
    arguments = {"per_device_train_batch_size": rows, "num_train_epochs": 1, **quiet, **arguments}
    trainer = Trainer(model, TrainingArguments(**arguments), train_dataset=pairs)
    trainer.remove_callback(PrinterCallback)  # it prints a line for each run
    trainer.train()
    return trainer


# %%
from grader import draw_curves

as_it_comes = run_trainer(make_pair_classifier(), logging_strategy="steps", logging_steps=1)
curves = {"Trainer as it comes": [entry["loss"] for entry in as_it_comes.state.log_history if "loss" in entry]}
if raw_losses:
    curves["raw loop"] = raw_losses
title = "Loss of each update, 8 rows each"
draw_curves(range(1, 9), curves, title=title, x_label="update", y_label="loss before the update")

# %% [markdown]
# Both runs begin with the same weights, yet their losses differ from the first update on, because the Trainer reads
# other rows. Eight updates do not show which run is better, only that the two are not the same run.
#
# Which default is the cause? The baseline is a Trainer whose settings reproduce your loop. Each of the next runs turns
# **one** default back on. The number is the distance from the baseline at the end of the run: 0 means equal weights, 1
# means as far away as without any training.

# %%
from grader import measure_weight_distance

as_the_loop = {"optim": "sgd", "learning_rate": 0.01, "weight_decay": 0.0, "lr_scheduler_type": "constant"}
as_the_loop |= {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential"}
start, baseline = make_pair_classifier(), make_pair_classifier()
baseline_trainer = run_trainer(baseline, **as_the_loop)

# %%
defaults = {
    "random sampling": {"train_sampling_strategy": "random"},
    "clipping at 1.0": {"max_grad_norm": 1.0},
    "linear schedule": {"lr_scheduler_type": "linear"},
    "AdamW at 5e-5": {"optim": "adamw_torch_fused", "learning_rate": 5e-5},
}
predicted = look(breaking_defaults, 8, 53.6) or {}
for name, change in defaults.items():
    model = make_pair_classifier()
    run_trainer(model, **as_the_loop | change)
    guess = next((value for key, value in predicted.items() if key in name), "-")
    print(f"{name:<16} distance {measure_weight_distance(model, baseline, start):.2f}   you predicted: {guess}")
print(f"all of them      distance {measure_weight_distance(as_it_comes.model, baseline, start):.2f}")

# %% [markdown]
# **Investigate.** Each of the four changes alone makes the run a different one.
#
# - *Random sampling.* Every update sees other rows.
# - *Clipping.* The first gradient has a norm of 53.6 and is scaled down to 1, so the first update moves the weights
#   only a fiftieth as far.
# - *The schedule.* Its eight learning rates add up to 4.5 full rates instead of 8. Yet the distance is small, because
#   in this run the first updates move the weights furthest, and they use almost the full rate.
# - *AdamW* at 5e-5 makes small steps. Compared with the movement of the loop, it has hardly left the start.

# %% [markdown]
# A distance of 1 does not mean that a run is worse, but that it ended as far from the baseline as if it had not
# trained. Your own loop should be at 0, up to rounding errors. The next cell measures that.

# %%
first_update = make_pair_classifier()
first_update(**batch).loss.backward()
norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in first_update.parameters()])
print(f"norm of the first gradient: {norm:.1f}")
if raw_losses:
    print(f"raw loop: distance {measure_weight_distance(raw_model, baseline, start):.2g}")
one_update, one_update_shuffled = make_pair_classifier(), make_pair_classifier()
run_trainer(one_update, rows=64, **as_the_loop)
run_trainer(one_update_shuffled, rows=64, **as_the_loop | {"train_sampling_strategy": "random"})
print(f"one update, random sampling: distance {measure_weight_distance(one_update_shuffled, one_update, start):.0e}")

# %% [markdown]
# **Modify.** The last line above compares two runs of a single update on all 64 rows, where the order of the rows
# leaves only a rounding error. In that run, replace `{"train_sampling_strategy": "random"}` by
# `{"lr_scheduler_type": "linear"}`, then by `{"max_grad_norm": 1.0}`. Before you run it: which of the two gives a
# distance of 0?
#
# <details><summary>Answer</summary>
# The schedule, because update 0 of 1 uses the full rate. Clipping does not depend on the number of updates.
# </details>

# %% [markdown]
# **A fifth default** is hidden behind AdamW: `torch.optim.AdamW` has a weight decay of 0.01, the Trainer one of 0.0.
# In addition, the Trainer's AdamW is *fused*: one kernel computes all steps of an update. Which of the two changes the
# computation? The next cell shows how far each ends from an AdamW that is not fused and has no weight decay.

# %%
for dtype in (torch.float32, torch.float64):
    adamw = as_the_loop | {"optim": "adamw_torch", "learning_rate": 5e-5}
    begin, plain, fused, decayed = (make_pair_classifier().to(dtype) for _ in range(4))
    run_trainer(plain, **adamw)
    run_trainer(fused, **adamw | {"optim": "adamw_torch_fused"})
    run_trainer(decayed, **adamw | {"weight_decay": 0.01})
    distances = [measure_weight_distance(model, plain, begin) for model in (fused, decayed)]
    print(f"{dtype!s:<14} fused {distances[0]:.1e}   weight decay 0.01 {distances[1]:.1e}")

# %% [markdown]
# In float32 the two distances look alike. In float64 one of them vanishes: **a difference that shrinks as the
# precision grows is rounding; a difference that stays is another computation.**
#
# Rounding has such a large effect here because AdamW divides each gradient by its own magnitude. Some gradients would
# be zero without rounding errors, and AdamW turns these errors into full steps. This course therefore judges equality
# under SGD.

# %% [markdown]
# ## Write: the same weights in two more forms
#
# **Accelerate** leaves the loop to you. Three calls change, with `accelerator` an `Accelerator()` that you create
# once:
#
# | raw PyTorch | Accelerate |
# |---|---|
# | `model.to(device)` once, `values.to(device)` for each batch | `accelerator.prepare(model, optimizer, loader)` once |
# | `loss.backward()` | `accelerator.backward(loss)` |
#
# `prepare` returns the model, the optimizer and the loader, in this order. From then on, use the returned objects: the
# model is on the device, and the loader moves every batch there. `accelerator.backward` calls `loss.backward()`; in
# later lessons it also scales or divides the loss.

# %% [markdown]
# **The Trainer** takes everything as arguments.
#
# | argument | default | also |
# |---|---|---|
# | `per_device_train_batch_size` | 8 | |
# | `num_train_epochs` | 3 | |
# | `learning_rate` | 5e-5 | |
# | `optim` | `"adamw_torch_fused"` | `"sgd"`, `"adamw_torch"`, ... |
# | `weight_decay` | 0.0 | |
# | `lr_scheduler_type` | `"linear"` | `"constant"`, ... |
# | `max_grad_norm` | 1.0 | 0.0 clips nothing |
# | `train_sampling_strategy` | `"random"` | `"sequential"` |
#
# It creates its optimizer from `optim`, or takes yours: `Trainer(..., optimizers=(optimizer, None))`. With your own
# optimizer, `optim`, `learning_rate` and `weight_decay` are ignored. The schedule still applies, because the second
# element, the scheduler, is `None`.

# %% tags=["given"]
from accelerate import Accelerator

from grader import check_accelerate_run, check_trainer_run

# %% [markdown]
# **Exercise.** Write the loop with Accelerate, so that the model ends with the same weights as after a raw loop with
# SGD.
#
# *Contract.*
# - Every epoch sees every row once, in order, `rows` at a time; the last update of an epoch may have fewer.
# - The learning rate stays constant, and no gradient is clipped. Return nothing.
# - Prepare the model, the optimizer and the loader, and let the accelerator run every backward pass.
#
# The check compares the gradient before each update and the final weights, also over two epochs.


# %% exercise="train_with_accelerate"
def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    """Train a model in a loop with Accelerate, as a raw loop with SGD would.

    Args:
        model: A classifier in train mode; returns an output with .loss.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update; the last update of an epoch may have fewer.
        learning_rate: Constant learning rate of SGD.
        epochs: How often every row is seen, each time in the same order.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    ### END SOLUTION


# %%
def report_distance(train):
    model = make_pair_classifier().to(device)
    train(model, pairs, 8, 0.01, 1)
    print(f"distance {measure_weight_distance(model, baseline, start):.2g}")


look(lambda: report_distance(train_with_accelerate))

# %% check="check_accelerate_run" points=2
check_accelerate_run(train_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: copy your raw loop and mark the lines that the table above replaces.<br>
# Then: one line of the raw loop is no longer needed, and one loop around it is missing.
# </details>

# %% [markdown]
# **Exercise.** Now let the Trainer run the same training.
#
# *Contract.*
# - Order, epochs, learning rate and clipping are those of the previous exercise.
# - The Trainer alone trains the model that your function receives. Return nothing.
# - `quiet` holds arguments that do not affect the weights. Which others does your loop need?
#
# The check compares the gradient before each update and the final weights, also over two epochs.


# %% exercise="train_with_trainer"
def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    """Train a model with the Trainer, as a raw loop with SGD would.

    Args:
        model: A classifier; returns an output with .loss.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update; the last update of an epoch may have fewer.
        learning_rate: Constant learning rate of SGD.
        epochs: How often every row is seen, each time in the same order.
    """
    ### BEGIN SOLUTION
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
    ### END SOLUTION


# %%
look(lambda: report_distance(train_with_trainer))  # the Trainer prints a line of its own

# %% check="check_trainer_run" points=2
check_trainer_run(train_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: go through the table of the Trainer's arguments. For each line, what would your loop have done?<br>
# Then: an argument that you leave out keeps its default, and five of the defaults change the weights.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: what do you lose when the Trainer writes the loop?</summary>
# You no longer see the decisions in the code: the Trainer chooses order, clipping, schedule, optimizer and device, and
# only its arguments show them.
# </details>

# %% [markdown]
# ## Evaluation in three forms
#
# A falling loss does not show what the model has learnt. Every epoch therefore ends with an evaluation on other pairs:
# accuracy, and F1 for label 1. You run two epochs in each of the three forms, and the numbers must agree.
#
# An evaluation runs in eval mode and without gradients, and switches back to train mode afterwards. It computes each
# metric **once, over all rows**. The mean of the batches' F1 values is a different number, and so is the mean of their
# accuracies if the last batch is shorter.

# %%
from grader import plain_trainer_arguments

unseen = tokenize_pairs(make_sentence_pairs("validation", pairs=60), make_tokenizer())


def to_device(batch: dict) -> dict:
    return {name: values.to(device) for name, values in batch.items()}


def score(logits, labels) -> dict[str, float]:
    """Compute accuracy and F1 from the logits [rows, 2] and labels [rows] of all rows."""
    guesses = logits.argmax(axis=-1)
    hits = ((guesses == 1) & (labels == 1)).sum()
    return {"accuracy": (guesses == labels).mean(), "f1": 2 * hits / ((guesses == 1).sum() + (labels == 1).sum())}


# %%
@torch.no_grad()
def evaluate(model, loader, gather=lambda tensors: tensors) -> dict[str, float]:
    """Score a model on all batches of a loader; Accelerate gathers the rows of all processes."""
    model.eval()
    collected = []
    for batch in map(to_device, loader):
        collected.append(gather((model(**batch).logits, batch["labels"])))
    model.train()
    logits, labels = (torch.cat(parts).cpu().numpy() for parts in zip(*collected, strict=True))
    return score(logits, labels)


# %%
def report(form: str, epoch: int, metrics: dict) -> None:
    values = ", ".join(f"{name} {metrics[name]:.3f}" for name in ("accuracy", "f1"))
    print(f"{form:<10} epoch {epoch}: {values}")


model = make_pair_classifier().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in (1, 2):
    for batch in map(to_device, DataLoader(pairs, batch_size=8)):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    report("raw", epoch, evaluate(model, DataLoader(unseen, batch_size=8)))

# %%
accelerator, model = Accelerator(), make_pair_classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
loaders = DataLoader(pairs, batch_size=8), DataLoader(unseen, batch_size=8)
model, optimizer, loader, unseen_loader = accelerator.prepare(model, optimizer, *loaders)
for epoch in (1, 2):
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    report("Accelerate", epoch, evaluate(model, unseen_loader, accelerator.gather_for_metrics))

# %%
run = plain_trainer_arguments(device) | {"num_train_epochs": 2, "learning_rate": 0.02, "eval_strategy": "epoch"}
trainer = Trainer(
    make_pair_classifier(),
    TrainingArguments(**run, per_device_eval_batch_size=8),
    train_dataset=pairs,
    eval_dataset=unseen,
    compute_metrics=lambda prediction: score(prediction.predictions, prediction.label_ids),
)
trainer.remove_callback(PrinterCallback)
trainer.train()
for epoch, entry in enumerate((entry for entry in trainer.state.log_history if "eval_f1" in entry), start=1):
    report("Trainer", epoch, {name.removeprefix("eval_"): value for name, value in entry.items()})

# %% [markdown]
# At the end of every epoch the Trainer calls `compute_metrics` on the logits and labels of all rows, and logs the
# results as `eval_accuracy` and `eval_f1`. `gather_for_metrics` collects the rows of all processes and drops the rows
# that were added only to fill up the last batch; with one process it changes nothing.
#
# `plain_trainer_arguments(device)` returns the arguments that you have found. The later lessons import it.

# %% [markdown]
# ## The price
#
# You pay for convenience with control. Each form hides other parts of the loop:
#
# | | raw PyTorch | Accelerate | Trainer |
# |---|---|---|---|
# | order of the rows | you | you | random |
# | batch to the device | you | hidden | hidden |
# | train mode | you | you | hidden |
# | backward pass | you | hidden: may scale and divide | hidden |
# | clipping | you | you | 1.0 |
# | optimizer | you | you, wrapped | AdamW, 5e-5 |
# | schedule | you | you | linear to 0 |
# | several devices, 16 bits | you | arguments | arguments |
# | logs, checkpoints, evaluation | you | you | arguments |

# %% [markdown]
# And what does it cost in time? An epoch has 8 updates here. Before you run the cell: does the Trainer take longer
# than your loop, and by which factor?

# %%
from grader import measure_step_time

timed_model = make_pair_classifier().to(device)


def raw_form():
    train_raw(timed_model, pairs, 8, 0.01)


def trainer_form():
    run_trainer(timed_model, **as_the_loop)


if raw_losses:
    print(measure_step_time(raw_form, trainer_form, run_count=3, warm_up_count=1))

# %% [markdown]
# The Trainer takes extra time for its set-up, once per run, and for callbacks and bookkeeping at each update. On such
# a small model this overhead is visible. An update of a large model takes seconds, so the overhead is negligible.

# %% [markdown]
# - **Raw PyTorch.** *Use it when* you change or debug the loop itself. *Do not when* you would have to rewrite the
#   code for several devices. *Combine with* the meters of lesson 01.
# - **Accelerate.** *Use it when* you want your own loop on several devices or in 16 bits. *Do not when* you will only
#   ever use one device. *Combine with* your own schedule and logging.
# - **Trainer.** *Use it when* the task is standard and you want logs, checkpoints and evaluation. *Do not when* the
#   order, the loss or the update is unusual. *Combine with* callbacks and `compute_metrics`.

# %% [markdown]
# ## Three drivers of efficiency
#
# A run can be too large, too slow, or waiting for other devices. Each technique spends one of the three to save
# another.
#
# - **Memory: does it fit?** 01 where memory goes, 02 accumulation, 03 checkpointing, 06 to 08 optimizers, 18 sharding,
#   19 offloading, 21 quantization and LoRA.
# - **Computation: is the device busy with useful work?** 04 number formats, 05 mixed precision, 10 where time goes, 11
#   data loading, 12 attention, 13 compilation, 20 training in fp8, 22 distillation, 23 experts.
# - **Communication: what do devices wait for?** 14 collectives, 15 data parallel, 16 local SGD, 17 model and pipeline
#   parallel.
#
# 09 learning rate, 24 resume and 25 capstone are about the whole run.

# %% [markdown] tags=["further"]
# ## Further: the instrument itself
#
# `measure_weight_distance` reports how far apart two runs end. Would any other comparison do as well? First look at
# how far the weights move.

# %% tags=["given"]
from grader import check_relative_distance


def flatten(model) -> torch.Tensor:
    """Return all parameters of a model as one vector on the CPU."""
    return torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()])


# %%
before, after, after_defaults = (flatten(model) for model in (start, baseline, as_it_comes.model))
print(f"the loop moved the weights by {(after - before).norm() / before.norm():.1%} of their norm")
print(f"the Trainer as it comes: {(after_defaults - before).norm() / before.norm():.1%}")
print(f"torch.allclose says that it did not train: {torch.allclose(after_defaults, before, atol=1e-3)}")

# %% [markdown]
# Training moves the weights by only about 1 % of their norm, so a comparison relative to the size of the weights would
# call an untrained model 99 % equal. `torch.allclose` with a tolerance of 0.001 cannot distinguish the Trainer's model
# from its start. A measure of equality therefore has to divide by the **movement**.

# %% [markdown]
# **Exercise.** Write the distance yourself.
#
# *Contract.*
# - Count all parameters, frozen ones included. Put the differences between `model` and `reference` into one long
#   vector and take its norm.
# - Divide it by the same norm between `reference` and `start`. Return a number.
# - If the reference has not moved at all, raise a `ValueError` with a message that explains why.
#
# Write it by hand: without `measure_weight_distance`.


# %% exercise="relative_distance"
def relative_distance(model, reference, start) -> float:
    """Return how far apart two trained models ended, relative to how far the reference moved, by hand.

    Every parameter counts once, also a frozen one; buffers do not count. The models are not changed.

    Args:
        model: A trained model.
        reference: Another trained model of the same shape, trained from the same start.
        start: A model that holds the weights with which both began.

    Returns:
        Norm of the difference between all parameters of `model` and `reference`, divided by the norm of the difference
        between `reference` and `start`, as a plain number.

    Raises:
        ValueError: if the reference has not moved.
    """
    ### BEGIN SOLUTION
    moved = (flatten(reference) - flatten(start)).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float((flatten(model) - flatten(reference)).norm() / moved)
    ### END SOLUTION


# %%
print(f"no training at all: distance {look(relative_distance, start, baseline, start)}")

# %% check="check_relative_distance" points=1
check_relative_distance(relative_distance)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: what does `flatten` return, and what do you subtract from what?<br>
# Then: for a model that equals `start`, numerator and denominator have to be the same number.
# </details>

# %% [markdown]
# ## Further: bug hunt
#
# A set of slides on efficient training prints this loop many times. It trains a classifier on padded sentence pairs.
# The model comes from `from_pretrained`, which returns it in eval mode.
#
# ```python
# for batch in dataloader:
#     inputs, targets = batch["input_ids"], batch["labels"]
#     outputs = model(inputs, labels=targets)
#     loss = outputs.loss
#     accelerator.backward(loss)
#     optimizer.step()
#     optimizer.zero_grad()
# ```
#
# The loop runs, and the loss falls. Compare the inputs that it passes with the columns of a batch. What does the model
# attend to? And what happens to its dropout?

# %% [markdown]
# **Exercise.** Repair the loop.
#
# *Contract.*
# - Train one epoch with plain `torch.optim.SGD`: one forward pass and one update for each `rows` rows, in order, with
#   the gradient of these rows.
# - During every forward pass the model **and all of its modules** are in train mode.
# - Use Accelerate or not, but do not use the Trainer.

# %% tags=["given"]
from grader import check_repaired_loop


# %% exercise="train_repaired"
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    """Train one epoch with plain SGD: the published loop, repaired.

    Args:
        model: A classifier as from_pretrained returns it.
        dataset: Rows with the columns that the model takes; short pairs are padded.
        rows: Rows of each update; the last update may have fewer.
        learning_rate: Constant learning rate of SGD.
    """
    ### BEGIN SOLUTION
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        outputs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], labels=batch["labels"])
        accelerator.backward(outputs.loss)
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


# %%
def report_repaired():
    model = make_pair_classifier().to(device).eval()
    train_repaired(model, pairs, 8, 0.01)
    print(f"distance to the baseline {measure_weight_distance(model, baseline, start):.2g}")


look(report_repaired)

# %% check="check_repaired_loop" points=1
check_repaired_loop(train_repaired)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: print the columns of one batch and tick those that the loop passes to the model.<br>
# Then: which line of your own loop, before the first batch, has no counterpart here?
# </details>
# <details><summary>What the published loop does</summary>
# Without a mask, every sentence attends to padding. Without token types, both sentences are marked as the first one.
# In eval mode, dropout is off during the whole training.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Which defaults of the Trainer break equality with a plain loop?</summary>
# Random sampling, clipping at 1.0, the linear schedule, and AdamW at 5e-5. Compared with PyTorch's AdamW, its weight
# decay of 0.0 differs as well.
# </details>
# <details><summary>How do you distinguish rounding from another computation?</summary>
# Run both in float64: a rounding error shrinks, and a difference in computation stays.
# </details>
# <details><summary>What do you change in a raw loop for Accelerate?</summary>
# Prepare the model, the optimizer and the loader, and call `accelerator.backward`.
# </details>
#
# **Takeaway: a default is a decision; what is not set is still chosen.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 01, where memory goes.

# %% [markdown]
# **Sources**
# - [Trainer][trainer]: `TrainingArguments` and its defaults.
# - [Accelerate, quick tour][tour]: `prepare`, `backward`, and `gather_for_metrics`.
# - [PyTorch, AdamW][adamw]: weight decay 0.01, and the fused implementation.
# - *Efficient AI Model Training with PyTorch*, slides: convenience against control, the three drivers, the loop of the
#   bug hunt.
#
# [trainer]: https://huggingface.co/docs/transformers/main_classes/trainer
# [tour]: https://huggingface.co/docs/accelerate/quicktour
# [adamw]: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
