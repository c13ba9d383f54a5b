# %% [markdown]
# # 22. Distillation
#
# You train a small model on the answers of a large one, and keep the large one's part of the cost small.
#
# 40 min (estimated) · CPU is enough · after lesson 09

# %% [markdown] objectives="1; 2; 3; 4"
# **You will be able to**
# - predict what a temperature does to the gradient of a soft loss;
# - complete the loss of distillation, with each factor where it belongs;
# - write a training run in which the teacher answers and does nothing else;
# - give the Trainer a loss of your own.

# %% tags=["given"]
import torch
import torch.nn.functional as F
from torch import nn

from grader import device_name, lesson_device, look

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 03: what does a forward pass under `torch.no_grad()` not keep?</summary>
# The activations that a backward pass would need.
# </details>
# <details><summary>Lesson 00: what does the Trainer minimize if you give it only a model and data?</summary>
# The loss that the model returns.
# </details>

# %% [markdown]
# **The problem.** A large model is right more often, but a small one is what you can serve. Below, a rule with six
# classes labels random inputs, and 30 % of the labels are replaced at random. The **teacher** trains on 16,000 rows;
# the much smaller **student** has 500. How much accuracy is lost?


# %%
def make_mlp(width, seed):
    torch.manual_seed(seed)
    layers = [nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 6)]
    return nn.Sequential(*layers).to(device)


def draw_rows(count, seed, noise):
    draw = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 16, generator=draw)
    is_replaced = torch.rand(count, generator=draw) < noise
    with torch.no_grad():
        labels = torch.where(is_replaced, torch.randint(6, (count,), generator=draw), rule(inputs).argmax(dim=1))
    return inputs.to(device), labels.to(device)


torch.manual_seed(0)
rule = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 6))
for parameter in rule.parameters():
    parameter.data.mul_(3)


# %%
def train_rows(model, inputs, loss_of_rows, updates):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = torch.Generator().manual_seed(1)
    for _ in range(updates):
        rows = torch.randint(len(inputs), (64,), generator=draw).to(device)
        optimizer.zero_grad()
        loss_of_rows(model(inputs[rows]), rows).backward()
        optimizer.step()
    return model.eval()


def accuracy_of(model):
    inputs, labels = draw_rows(4_000, seed=99, noise=0.0)
    with torch.no_grad():
        return (model(inputs).argmax(dim=1) == labels).float().mean().item()


many, many_labels = draw_rows(16_000, seed=5, noise=0.3)
inputs, labels = draw_rows(500, seed=6, noise=0.3)
large = train_rows(make_mlp(128, 0), many, lambda logits, rows: F.cross_entropy(logits, many_labels[rows]), 1_000)
small = train_rows(make_mlp(24, 1), inputs, lambda logits, rows: F.cross_entropy(logits, labels[rows]), 300)
for name, model in {"teacher, 16,000 rows": large, "student, 500 rows": small}.items():
    numbers = sum(parameter.numel() for parameter in model.parameters())
    print(f"{name:<22} {numbers:>7,} parameters   accuracy {accuracy_of(model):.1%}")

# %%
right_labels = draw_rows(500, seed=6, noise=0.0)[1]  # of the same rows
is_wrong = labels != right_labels
with torch.no_grad():
    is_reproduced = small(inputs).argmax(dim=1) == labels
cleaned = train_rows(make_mlp(24, 1), inputs, lambda logits, rows: F.cross_entropy(logits, right_labels[rows]), 300)
wrong_share, reproduced_share = is_wrong.float().mean(), is_reproduced[is_wrong].float().mean()
print(f"{wrong_share:.0%} of the student's labels are wrong, and it reproduces {reproduced_share:.0%} of these;")
print(f"trained on the right labels of the same rows, its accuracy is {accuracy_of(cleaned):.1%}")

# %% [markdown]
# The student fits some of the wrong labels, and would be better without them. The teacher could tell it more than a
# class: *this row is probably class 2, perhaps 4, and never 0*. That is a distribution, a **soft target**, which the
# teacher's logits already contain.
#
# A **temperature** `T` divides the logits before the softmax. A confident teacher's distributions are sharp at 1; this
# one saw noisy labels and is less sure, so the cell plots its surest row. A higher temperature shows how the other
# classes compare.

# %%
from grader import draw_curves

temperatures = (1, 2, 4, 8)
with torch.no_grad():
    logits = large(inputs[:50])
ordered = logits[logits.max(dim=1).values.argmax()].sort(descending=True).values  # its surest row of fifty
curves = {f"T = {temperature}": torch.softmax(ordered / temperature, dim=0).tolist() for temperature in temperatures}
largest = torch.softmax(logits, dim=1).max(dim=1).values
print(f"largest probability at T = 1: {largest.max():.2f} in this row, {largest.mean():.2f} in the mean of fifty rows")
draw_curves(range(1, 7), curves, title="One row, six classes", x_label="class, by probability", y_label="probability")

# %% [markdown]
# ## Derive: what a temperature does to the gradient
#
# The **soft loss** is the Kullback-Leibler divergence of the student's distribution from the teacher's, both at `T`:
#
# `KL = sum over the classes of p (log p - log q)`, with `p` of the teacher and `q` of the student.
#
# Its gradient with respect to the student's *logits* is as simple as the cross-entropy's, which is `q - label`. Higher
# temperatures flatten both distributions. Before you derive it: does the gradient grow, shrink or stay as `T` rises?

# %% [markdown]
# **Exercise.** Derive the gradient and write it down; autograd is good for comparing.
#
# *Contract.*
# - There is one row: both logits have the shape [classes], and `temperature` is positive.
# - Return the derivative of KL with respect to the student's logits *before* their division by the temperature, as a
#   tensor of this shape, and leave the inputs as they are.

# %% tags=["given"]
from grader import check_soft_gradient


# %% exercise="soft_gradient"
def soft_gradient(student_logits: torch.Tensor, teacher_logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Gradient of the soft loss by the student's logits.

    Args:
        student_logits: Logits of one row, [classes].
        teacher_logits: The teacher's, [classes].
        temperature: Divides both before the softmax.

    Returns:
        The gradient, [classes].
    """
    ### BEGIN SOLUTION
    student = torch.softmax(student_logits / temperature, dim=0)
    teacher = torch.softmax(teacher_logits / temperature, dim=0)
    return (student - teacher) / temperature
    ### END SOLUTION


# %%
def show_gradients():
    with torch.no_grad():
        student_logits, teacher_logits = small(inputs[:64]), large(inputs[:64])
    for temperature in (1, 2, 4, 8, 16):
        pairs = zip(student_logits, teacher_logits, strict=True)
        norms = torch.stack([soft_gradient(*pair, temperature).norm() for pair in pairs])
        print(f"T = {temperature:>2}: norm {norms.mean():.4f}, times T squared {temperature**2 * norms.mean():.4f}")


look(show_gradients)

# %% check="check_soft_gradient" points=2
check_soft_gradient(soft_gradient)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: at temperature 1, what is the gradient of a cross-entropy whose target is a distribution?<br>
# Then: the logits are divided by `T` before they reach the softmax. What does the chain rule add?
# </details>

# %% [markdown]
# **Investigate.** One factor `1 / T` comes from the chain rule. A second comes from the distributions: at high
# temperatures both approach the uniform distribution, and their difference shrinks like `1 / T`. So the gradient of the
# soft loss fades like `1 / T²` there, while that of the labels' loss stays as it is. With a factor `T²`, the balance of
# the two depends much less on `T`, and hardly at high temperatures: compare the two columns above, row by row.
#
# <details><summary>What does the gradient of the soft loss, times T squared, become when T is very high?</summary>
# The student's logits minus the teacher's, each relative to its own mean, divided by the number of classes: the student
# matches logits.
# </details>

# %% [markdown]
# ## Complete: the loss
#
# `loss = alpha x T² x KL + (1 - alpha) x cross-entropy of the labels`
#
# Three things go wrong easily. `F.kl_div(input, target)` takes the student's **log-probabilities** first, then
# the teacher: the opposite order of the formula. Its default `reduction="mean"` divides by the rows *and* the classes;
# PyTorch warns that this will change. And a teacher whose logits carry a gradient gets gradients from its student's
# loss: backward runs through it, and an optimizer that holds it trains it.

# %% [markdown]
# **Exercise.** Complete the loss: the soft part and the sum.
#
# *Contract.*
# - Both logits have the shape [rows, classes], and `labels` [rows]; both losses are means over the rows.
# - The soft loss is KL at the temperature, multiplied by the square of the temperature; the labels' loss has no
#   temperature.
# - No gradient reaches the teacher's logits, and both logits keep their numbers. Return a scalar tensor.
#
# The check compares the loss and both gradients in five settings.

# %% tags=["given"]
from grader import check_distillation_loss


# %% exercise="distillation_loss"
def distillation_loss(student_logits, teacher_logits, labels, temperature: float, alpha: float) -> torch.Tensor:
    """Loss of distillation.

    Args:
        student_logits: [rows, classes].
        teacher_logits: [rows, classes]; they may need a gradient.
        labels: Classes, [rows].
        temperature: Divides both logits in the soft loss.
        alpha: Weight of the soft loss; the labels have the rest.

    Returns:
        The loss, a scalar.
    """
    hard = F.cross_entropy(student_logits, labels)
    ### BEGIN SOLUTION
    student = F.log_softmax(student_logits / temperature, dim=1)
    teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
    soft = F.kl_div(student, teacher, reduction="batchmean")
    return alpha * temperature**2 * soft + (1 - alpha) * hard
    ### END SOLUTION


# %%
def compare_students():
    with torch.no_grad():
        answers = large(inputs)  # of all rows, once
    for temperature in (1.0, 4.0):

        def loss_of_rows(logits, rows, temperature=temperature):
            return distillation_loss(logits, answers[rows], labels[rows], temperature, 0.9)

        student = train_rows(make_mlp(24, 1), inputs, loss_of_rows, 300)
        print(f"student, 500 rows, T = {temperature:.0f}: accuracy {accuracy_of(student):.1%}")
    print(f"the same student on labels alone: {accuracy_of(small):.1%}; its teacher: {accuracy_of(large):.1%}")


look(compare_students)

# %% check="check_distillation_loss" points=3
check_distillation_loss(distillation_loss)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: set `alpha` to 1 and use one row. Which number should come out if student and teacher agree?<br>
# Then: compare one row with the formula, and two equal rows with one. What does each tell you of the reduction?
# </details>

# %% [markdown]
# The student learns from the same 500 rows, yet comes close to a teacher that saw 32 times as many. Its own rows needed
# no right labels for that. The temperature matters little here, because noisy labels already make this teacher unsure.
# A teacher that is nearly always sure needs a higher temperature.

# %% [markdown]
# ## Write: the teacher only answers
#
# A run now holds two models. What does the second one cost? The cell measures one update of a student in four ways:
# alone; with a teacher under `no_grad`; with a teacher whose graph is kept; and with answers that were stored
# beforehand.

# %%
from contextlib import nullcontext

from grader import format_bytes, make_chain, measure_peak_memory, measure_step_time


def make_update(way: str) -> dict:
    student, teacher = make_chain(4, 128, 256).to(device), make_chain(8, 128, 1024).to(device)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    rows = torch.randn(512, 128, device=device)
    stored = teacher(rows).detach()

    def step():
        with nullcontext() if way == "teacher with a graph" else torch.no_grad():
            wanted = stored if way in ("alone", "stored answers") else teacher(rows)
        loss = student(rows).square().mean() if way == "alone" else F.mse_loss(student(rows), wanted.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    asked = [*teacher.parameters()] if way.startswith("teacher") else [stored] if way == "stored answers" else []
    return {"step": step, "model": student, "optimizer": optimizer, "inputs": [rows, *asked]}


# %%
ways = {way: make_update(way) for way in ("alone", "stored answers", "teacher under no_grad", "teacher with a graph")}
times = measure_step_time(*(update["step"] for update in ways.values()), run_count=5, warm_up_count=1)
print(f"measured on: {device_name()}, five updates of each in turn")
for (way, update), step, ratio in zip(ways.items(), times.steps, times.ratios, strict=True):
    peak = format_bytes(measure_peak_memory(**update).peak_bytes)
    print(f"{way:<22} peak {peak:>9}   {1000 * step.median_seconds:6.1f} ms, {ratio:.1f} times the first")

# %% [markdown]
# The peak counts the weights of each model that the update uses. Under `no_grad`, the teacher adds its weights, its
# forward pass, and the activations of one layer at a time. With a graph, it adds the activations of all layers, which
# nothing uses. Stored answers avoid both costs. A classifier's take one row of logits for each row of data; a language
# model's, one for each token, are often larger than the data. And the data must not be augmented.

# %% [markdown]
# **Exercise.** Write one pass of distillation.
#
# *Contract.*
# - Train the student with plain SGD, one update for each batch, in order, and with the student in train mode.
# - `loss_function(student_logits, teacher_logits, labels)` returns the loss.
# - Each model runs once for each batch. Both may arrive in either mode.
# - The teacher runs in eval mode and without a graph, and is not in the optimizer. Its weights and statistics end
#   unchanged; you may leave it in eval mode or frozen.
# - Return the loss of each update, as a list of numbers or of tensors without a graph.

# %% tags=["given"]
from grader import check_distilled_student


# %% exercise="distil"
def distil(student, teacher, loss_function, batches, learning_rate: float) -> list[float]:
    """Train a student for one pass over batches.

    Args:
        student: A classifier, called on inputs [rows, features].
        teacher: Another one, with the same classes.
        loss_function: Takes (student's logits, teacher's logits, labels), returns a scalar.
        batches: A list of (inputs, labels).
        learning_rate: Of SGD.

    Returns:
        The loss of each update.
    """
    ### BEGIN SOLUTION
    teacher.eval()
    student.train()
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    losses = []
    for inputs, labels in batches:
        with torch.no_grad():
            teacher_logits = teacher(inputs)
        loss = loss_function(student(inputs), teacher_logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %%
def show_losses():
    batches = list(zip(inputs.split(100), labels.split(100), strict=True))

    def loss(student_logits, teacher_logits, labels):
        return F.mse_loss(student_logits, teacher_logits)

    losses = distil(make_mlp(24, 1), large, loss, batches, 0.1)
    print("losses:", ", ".join(f"{value:.2f}" for value in losses))


look(show_losses)

# %% check="check_distilled_student" points=3
check_distilled_student(distil)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which lines of an ordinary loop concern the teacher at all?<br>
# Then: detached logits still come from a forward pass that built a graph. How do you keep it from being built?
# </details>

# %% [markdown]
# ## The Trainer's form
#
# With Accelerate, you keep your loop: prepare the student, its optimizer and the loader, move the teacher to the
# device, and call `accelerator.backward`. The Trainer owns the loop, so you change what it minimizes: a subclass
# overrides `compute_loss(model, inputs, return_outputs, num_items_in_batch)`, whose inputs contain the labels. (The
# argument `compute_loss_func` takes a loss of outputs and labels; it does not receive the inputs that a teacher needs.)
# The Trainer calls `model.train()` for the student and its modules, and knows nothing of the teacher.

# %% tags=["given"]
from transformers import Trainer, TrainingArguments

from grader import plain_trainer_arguments

same_run = plain_trainer_arguments(device)  # equal to a plain raw loop; add the batch and the rate

# %% [markdown]
# **Exercise.** Distil with the Trainer.
#
# *Contract.*
# - Run one epoch in order, in batches of `rows`, with SGD at `learning_rate`; `same_run` holds the other arguments.
# - Both models return an output with `.logits`. The labels are in `inputs["labels"]`; the models do not need them.
# - The loss is `loss_function(student_logits, teacher_logits, labels)`.
# - As in the raw loop: each model runs once for each batch, the student in train mode; the teacher in eval mode,
#   without a graph, outside the optimizer, with weights that end unchanged. It is on the device already.

# %% tags=["given"]
from grader import check_distillation_trainer


# %% exercise="distil_with_trainer"
def distil_with_trainer(student, teacher, loss_function, dataset, rows: int, learning_rate: float) -> None:
    """Train a student for one epoch with the Trainer.

    Args:
        student: Returns an output with .logits.
        teacher: The same, on the device.
        loss_function: Takes (student's logits, teacher's logits, labels), returns a scalar.
        dataset: Rows as the models take them, labels included.
        rows: Rows of a batch.
        learning_rate: Of SGD.
    """
    ### BEGIN SOLUTION
    teacher.eval()

    class Distiller(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            with torch.no_grad():
                teacher_logits = teacher(**inputs).logits
            outputs = model(**inputs)
            loss = loss_function(outputs.logits, teacher_logits, labels)
            return (loss, outputs) if return_outputs else loss

    run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Distiller(student, TrainingArguments(**run), train_dataset=dataset).train()
    ### END SOLUTION


# %%
from grader import make_pair_classifier, make_sentence_pairs, make_tokenizer, tokenize_pairs


def match_logits(student_logits, teacher_logits, labels):
    return F.mse_loss(student_logits, teacher_logits)


def train_pairs():
    tokenizer = make_tokenizer()
    pairs = tokenize_pairs(make_sentence_pairs(pairs=64), tokenizer)
    student, teacher = (make_pair_classifier(seed=seed).to(device) for seed in (0, 1))
    columns = ("input_ids", "attention_mask", "token_type_ids")
    rows = {name: torch.tensor(pairs[:16][name], device=device) for name in columns}
    for moment in ("before", "after"):
        with torch.no_grad():
            distance = F.mse_loss(student.eval()(**rows).logits, teacher.eval()(**rows).logits)
        print(f"{moment:<7} the squared distance of the logits is {distance:.2g}")
        if moment == "before":
            distil_with_trainer(student, teacher, match_logits, pairs, 8, 0.002)


look(train_pairs)

# %% check="check_distillation_trainer" points=2
check_distillation_trainer(distil_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: a model that receives the labels computes a loss of its own, too. Which loss does the Trainer minimize?<br>
# Then: a function defined inside yours can use the teacher and the loss, and so can a class.
# </details>

# %% [markdown]
# ## Pruning, the other way to a small model
#
# **Pruning** sets weights to zero. The cell removes from the teacher the half of the weights with the smallest
# magnitude, and compares accuracy, bytes and time.

# %%
import copy

from torch.nn.utils import prune

pruned = copy.deepcopy(large)
matrices = [(layer, "weight") for layer in pruned if isinstance(layer, nn.Linear)]
prune.global_unstructured(matrices, pruning_method=prune.L1Unstructured, amount=0.5)
for name, model in {"teacher": large, "pruned, masks kept": pruned}.items():
    held = sum(value.untyped_storage().nbytes() for value in model.state_dict().values())
    print(f"{name:<20} accuracy {accuracy_of(model):.1%}, weights and masks {held / 1024:.0f} KiB")
with torch.no_grad():
    times = measure_step_time(lambda: large(many), lambda: pruned(many), run_count=5, warm_up_count=1)
print(f"the pruned forward takes {times.ratios[1]:.2f} times as long")

# %% [markdown]
# Half of the weights are zero, but nothing got smaller: zeros are stored like other numbers, and the masks take extra
# memory. Expect about the same time or a little more, because each forward applies the masks. Bytes and time fall only
# if whole rows, heads or layers are removed (*structured* pruning, after which distillation repairs the loss), or if
# the hardware knows the pattern: two zeros in each group of four on NVIDIA's sparse tensor cores.

# %% [markdown]
# - **Use it when** a model must be small or fast at inference, and there is a better one whose answers you may use.
# - **Do not** use it to make *training* cheaper: the teacher's forward pass is added, or its answers have to be stored.
# - **Combine with** stored answers, 16-bit inference of the teacher (lesson 05), LoRA for the student (lesson 21).

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Why is the soft loss multiplied by the temperature squared?</summary>
# At high temperatures its gradient fades like one over their square; the factor nearly keeps its balance with the
# labels' loss.
# </details>
# <details><summary>What is the difference between `teacher(rows).detach()` and a teacher under `no_grad`?</summary>
# The gradient is the same. But the first builds the teacher's graph, and holds its activations until the logits are
# detached.
# </details>
# <details><summary>Why does the teacher have to be in eval mode?</summary>
# Otherwise dropout makes it a different teacher at each batch, and its running statistics change.
# </details>
#
# **Takeaway: the teacher answers, once for each batch, and nothing of it is trained or kept.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 23.

# %% [markdown]
# **Sources**
# - [Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network][hinton]: soft targets, temperature, its
#   square, and matching logits as the limit.
# - [PyTorch, KLDivLoss][kl]: the order of the arguments, and `batchmean`.
# - [Transformers, Trainer][trainer]: what a subclass may override.
# - [PyTorch, pruning tutorial][pruning]: masks and what they are applied to. [NVIDIA, Accelerating sparse deep neural
#   networks][sparse]: two of four.
#
# [hinton]: https://arxiv.org/abs/1503.02531
# [kl]: https://docs.pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
# [trainer]: https://huggingface.co/docs/transformers/main_classes/trainer
# [pruning]: https://docs.pytorch.org/tutorials/intermediate/pruning_tutorial.html
# [sparse]: https://arxiv.org/abs/2104.08378
