# %% [markdown]
# # 16. Local SGD
#
# You train on several ranks that average their weights only every few updates, and you see what that saves and costs.
#
# 60 min (estimated) · CPU is enough · after lesson 15

# %% [markdown] objectives="1; 2; 3 4"
# **You will be able to**
# - predict how often the ranks synchronise, and when local SGD is exactly data parallel training;
# - average a model over all ranks: what is trained, whatever else has drifted, and nothing more;
# - write local SGD with accumulation and a final average, by hand and with Accelerate.

# %% tags=["given"]
import torch
import torch.distributed as dist
import torch.nn.functional as F

from grader import MIB, check_local_sgd_synchronisations, draw_curves, look, look_at_ranks, run_ranks

print(f"measured on: processes of one machine, CPU, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>In data parallel training with k micro-batches per update, how often are the gradients
# all-reduced?</summary>
# Once per update, if no_sync is around the forward and backward passes of all micro-batches except the last.
# </details>
# <details><summary>By what does AdamW divide its first moment?</summary>
# By the root of the second moment, which it keeps for each parameter.
# </details>

# %% [markdown]
# **The problem.** Data parallel training all-reduces every gradient at every update. For DistilBERT, that is 251 MiB
# each time. Between two rooms, or two cities, the network may well be the slowest part.
#
# What if the ranks train on their own for eight updates, and then average the weights that they have reached? That
# sends an eighth of the bytes. But meanwhile each rank moves away from the others. Does it matter?

# %% [markdown]
# ## Weights instead of gradients
#
# In **local SGD**, each rank takes its steps with its own gradients. After every `every` updates, all ranks replace
# their weights by the mean of the ranks' weights. This is one **synchronisation**. Papers call `every` H.
#
# The next cells define a small job for two ranks, with 60 batches each. `every=0` means data parallel training.
# `is_sorted` and the other optimizers are used later.


# %% tags=["given"]
def make_job(rank, is_sorted=False):
    """Return a model, 60 batches of 8 rows for this rank of two, and all rows."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(*sizes) for sizes in ((8, 32), (32, 1), (8, 32), (32, 1))]
    teacher, model = (torch.nn.Sequential(layers[i], torch.nn.Tanh(), layers[i + 1]) for i in (0, 2))
    inputs = torch.randn(960, 8)
    targets = 3 * teacher(inputs).detach() + torch.sin(2 * inputs[:, :1])
    order = inputs[:, 0].argsort() if is_sorted else torch.arange(960)
    own = order.chunk(2)[rank][torch.randperm(480)].view(60, 8)
    return model, inputs[own], targets[own], (inputs, targets)


def make_optimizer(name, parameters):
    if name == "AdamW":
        return torch.optim.AdamW(parameters, lr=0.01)
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9 if name == "SGD with momentum" else 0.0)


def average_tensors(tensors, world_size):
    """Replace each tensor by its mean over all ranks."""
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size


# %%
def train(rank, world_size, every, name="SGD", is_sorted=False):
    """Train for 60 updates, and return all weights after each of them."""
    model, inputs, targets, _ = make_job(rank, is_sorted)
    parameters, weights = list(model.parameters()), []
    optimizer = make_optimizer(name, parameters)
    for update in range(60):
        optimizer.zero_grad()
        F.mse_loss(model(inputs[update]), targets[update]).backward()
        if every == 0:
            average_tensors([parameter.grad for parameter in parameters], world_size)
        if name == "SGD with clipping":
            torch.nn.utils.clip_grad_norm_(parameters, 0.1)
        optimizer.step()
        if every and (update + 1) % every == 0:
            average_tensors(parameters, world_size)
        weights.append(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    return torch.stack(weights)


# %%
def norm(vector):
    return float(torch.linalg.vector_norm(vector))


runs = {every: run_ranks(train, 2, every=every) for every in (1, 2, 4, 8)}
for every, run in runs.items():
    first, second = (weights[-1] for weights in run.returned)
    sent = run.traffic[0].collectives["all_reduce"] // 4  # the model has four tensors
    print(f"every = {every}: synchronisations {sent:>2}, at the end the ranks are {norm(first - second):.2f} apart")

# %% [markdown]
# With `every = 8`, the ranks end with different weights: 60 is not a multiple of 8, so the last four updates stay on
# their ranks. If you then save the model of rank 0, you throw away the last steps of the others, and no error says so.
#
# The remedy is one more average at the end, a **final average**. It is needed only if updates came after the last
# average.

# %% [markdown]
# ## Predict: how often, and when equal
#
# `every = 1` averages the weights after each update, while data parallel training averages the gradients before it.
# Both start from equal weights and see the same rows. Do they end in the same weights?
#
# Ask: is the **mean of the ranks' steps** the **step of the mean gradient**? Write the step down for two ranks.
#
# - SGD: the step is the learning rate times the gradient.
# - With momentum: the learning rate times `0.9 x buffer + gradient`, where each rank keeps its own buffer.
# - With clipping: a gradient that is longer than a limit is first scaled down to the limit.
# - AdamW: the first moment, divided by the root of the second.

# %% [markdown]
# **Exercise.** Predict how often the ranks average, and whether the run equals data parallel training.
#
# *Contract.*
# - Each rank has `micro_batches` of equal size. `k` of them make one update; a shorter last group gets its update, too.
# - The ranks average weights after every `every` updates, and at the end if needed. Optimizer state stays on its rank.
# - Return how often they average, and whether they end, up to rounding, in the weights of data parallel training on the
#   same micro-batches. That training clips the averaged gradient; all gradients are longer than the limit.
#
# Ranks have different rows. The check asks about fifteen runs.


# %% exercise="predict_synchronisations"
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    """Count the synchronisations of local SGD, and say if it equals data parallel training.

    Args:
        micro_batches: How many each rank has.
        k: Micro-batches for one update.
        every: Updates between two averages.
        optimizer: "SGD", "SGD with momentum", "SGD with clipping" or "AdamW".

    Returns:
        Synchronisations of the whole run, and whether it ends in the weights of data parallel training.
    """
    ### BEGIN SOLUTION
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return synchronisations, is_linear and synchronisations == updates
    ### END SOLUTION


# %%
look(predict_synchronisations, 60, 1, 8, "SGD")

# %% check="check_local_sgd_synchronisations" points=2
check_local_sgd_synchronisations(predict_synchronisations)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: count the updates, including the short last group. Then count the averages among them, and look at the end.<br>
# Then: take gradients 0.3 and -0.1 on two ranks. Compute both steps, their mean, and the step of the mean 0.1.
# </details>

# %% [markdown]
# **Run.** All four optimizers run with `every = 1` and are compared with data parallel training. The difference between
# the weights is shown relative to the distance that data parallel training has moved from the start.


# %%
def train_all(rank, world_size, jobs):
    """Return the weights at the end of each of some jobs: every, optimizer, is_sorted."""
    return [train(rank, world_size, *job)[-1] for job in jobs]


names = ("SGD", "SGD with momentum", "SGD with clipping", "AdamW")
predicted = look(lambda: [predict_synchronisations(60, 1, 1, name)[1] for name in names])
start = torch.nn.utils.parameters_to_vector(make_job(0)[0].parameters()).detach()
ends = run_ranks(train_all, 2, jobs=[(every, name) for name in names for every in (0, 1)]).returned[0]
for index, name in enumerate(names):
    together, local = ends[2 * index : 2 * index + 2]
    forecast = f"   predicted equal: {predicted[index]}" if predicted else ""
    print(f"{name:<18} differs by {norm(local - together) / norm(together - start):.1e} of the way{forecast}")


# %%
def first_step(name, gradient):
    """Return the first step of a single weight."""
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.tensor([gradient])
    make_optimizer(name, [weight]).step()
    return weight.item()


for name in ("SGD", "SGD with momentum", "AdamW"):
    mean_of_steps = (first_step(name, 0.3) + first_step(name, -0.1)) / 2
    print(f"{name:<18} mean of the steps {mean_of_steps:+.4f}, step of the mean {first_step(name, 0.1):+.4f}")

# %% [markdown]
# **Investigate.** If a step is **linear** in the gradients, the mean of the ranks' steps is the step of the mean
# gradient. SGD's step is linear. So is the step with momentum, because a buffer is a weighted sum of all gradients so
# far: the ranks' buffers differ, but their mean is the buffer of data parallel training.
#
# AdamW's step is not linear. Each rank divides by a root of its **own** squared gradients. In the cell above, its first
# step is the learning rate with the sign of the gradient. Two opposite signs cancel, but the mean gradient has only one
# sign.

# %% [markdown]
# Clipping is not linear either, because each rank divides by its own length. In words: *averaging after each update is
# data parallel training exactly when the step is linear.* A run with a single update in total is such a case, whatever
# `every` is.
#
# | optimizer, `every = 1` | step | equal to data parallel |
# |---|---|---|
# | SGD | learning rate x gradient | yes |
# | SGD with momentum | learning rate x weighted sum of gradients | yes |
# | SGD with clipping | divided by each rank's own length | no |
# | AdamW | divided by each rank's own root | no |
#
# With `every` above 1, none is equal once a rank takes a second step on its own: it computes that gradient at **its
# own** weights. Accumulation is a sum, so it changes nothing.

# %% [markdown]
# <details><summary>Explain in one sentence: with momentum and every = 1, why may the buffers stay on their
# ranks?</summary>
# The weights hold the sum of all steps, and the mean of the ranks' steps is already the step of the mean buffer.
# </details>

# %% [markdown]
# ## Drift
#
# How far is a rank from the mean of all ranks? With two ranks, it is half of the distance between them, which the first
# run printed. Before you run the cell: at which updates is the drift zero?


# %%
def drift_of(run):
    """The distance of rank 0 from the mean of all ranks, after each update."""
    weights = torch.stack(run.returned)  # [ranks, updates, parameters]
    return [norm(one) for one in weights[0] - weights.mean(dim=0)]


draw_curves(
    range(1, 17),
    {f"every = {every}": drift_of(runs[every])[:16] for every in (2, 4, 8)},
    title="Distance of rank 0 from the mean, after each of the first 16 updates",
    x_label="update",
    y_label="distance",
)

# %%
parameter_bytes = start.nbytes
for every, run in runs.items():
    calls = -(-60 // every)  # the final average included
    largest = max(drift_of(run))
    cost = f"synchronisations {calls:>2}, {calls * parameter_bytes:>6,} bytes into all_reduce"
    print(f"every = {every}: {cost}, largest drift {largest:.3f}")
print(f"data parallel: 60 all-reduces of all gradients, {60 * parameter_bytes:,} bytes into all_reduce")

# %% [markdown]
# The drift falls to zero at each average, and begins again with the next update. It does not grow in proportion to
# `every`: with `every = 8`, the first update after an average already causes more than half of it. At some updates it
# even falls, as from 6 to 7, and from 13 to 15.
#
# **Modify.** If you move the last `if` in `train` up, the ranks average **before** `optimizer.step()`. Would they still
# agree after an average?
#
# <details><summary>Answer</summary>
# No. They agree for a moment, and then each takes a step with its own gradient, computed at weights that no longer
# exist.
# </details>

# %% [markdown]
# ## Complete: the average of a model
#
# `average_tensors` above receives a list. What belongs in that list? A model holds more than trained weights.
#
# - A normalisation layer keeps **running statistics** in buffers, `model.buffers()`. No gradient changes them, but each
#   forward pass in train mode does, so they drift as well.
# - Any module may have such **floating-point buffers**, under any name. Other buffers hold integers or truth values,
#   such as a **counter** or a mask, which have no mean.
# - A **tied** parameter has two names.
# - A **frozen** parameter is the same on every rank.

# %% [markdown]
# **Exercise.** Average a model over all ranks, in place.
#
# *Contract.* Every rank calls your function, between two updates.
# - Replace each trained parameter (`requires_grad`, with or without a gradient) and each floating-point buffer by its
#   mean over all ranks. All of these are float32. Parameters stay the same objects, and trainable.
# - Frozen parameters, other buffers and gradients keep every bit.
# - All-reduce each averaged tensor once, also a tied one, alone or with others. Send nothing else, and use no barrier.
#
# The checks run 2 and 3 ranks, and compare all tensors and the bytes sent.

# %% tags=["given"]
from grader import check_averaged_bytes, check_averaged_parameters


# %% exercise="average_parameters"
def average_parameters(model) -> None:
    """Replace what can differ between the ranks by its mean over all ranks.

    Args:
        model: A module on the CPU; each rank calls this with its own.
    """
    world_size = dist.get_world_size()
    ### BEGIN SOLUTION
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
    ### END SOLUTION


# %%
def average_on_a_rank(rank, average_model):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        model[0].bias.fill_(rank)
    model[1].running_mean.fill_(10.0 * rank)
    model[1].num_batches_tracked.fill_(rank)
    average_model(model)
    numbers = model[0].bias.tolist(), model[1].running_mean.tolist(), model[1].num_batches_tracked.item()
    print(f"bias {numbers[0]}   running mean {numbers[1]}   counter {numbers[2]}")


run = look_at_ranks(average_on_a_rank, 3, average_model=average_parameters)

# %% check="check_averaged_parameters" points=3 tags=["needs-loopback"]
check_averaged_parameters(average_parameters)

# %% check="check_averaged_bytes" points=1 tags=["needs-loopback"]
check_averaged_bytes(average_parameters)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: make a list of the tensors that can differ and have a mean. Two conditions select them.<br>
# Then: model.parameters() yields a tied parameter once. Autograd must not record while you write into a parameter.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is a frozen parameter left out, although its mean is itself?</summary>
# Sending its bytes would be wasteful, and rounding may change its last bits when the sum is divided again.
# </details>
#
# **Modify.** Suppose that each rank had built its model from **a different seed**. Would the averaged model be a good
# start?
#
# <details><summary>Answer</summary>
# No. The weights of unrelated models do not correspond to each other, so their mean is a model that nobody has trained.
# Local SGD needs equal starts, as data parallel training does.
# </details>

# %% [markdown]
# ## Write: local SGD with accumulation
#
# **Exercise.** Write the whole loop from its contract, with `k` micro-batches for each update.
#
# *Contract.*
# - All ranks start with equal weights. `micro_batches` are those of **all** ranks; this rank takes every
#   `world_size`-th, starting with number `rank`. Each rank has equally many. Go through them once.
# - Each `k` of them make one update, `optimizer.step()`, with the gradient of their mean loss, `F.mse_loss`; the last
#   group may be shorter, and gets its update, too.
# - Run one micro-batch forward and backward at a time.

# %% [markdown]
# *Contract, continued.*
# - `average(model)` is given: it averages what your `average_parameters` should. All ranks call it after every `every`
#   **updates**, and once more at the end only if updates came after the last average.
# - Send nothing else, and use no barrier: gradients and optimizer state stay on their rank. The model stays in train
#   mode. Return values and list changes are ignored.
#
# The checks run 2 and 3 ranks, with SGD, momentum and AdamW, once with fewer updates than `every`. They compare
# gradients and weights at every update, running statistics, and bytes sent.

# %% tags=["given"]
from grader import check_local_sgd_traffic, check_local_sgd_updates


# %% exercise="train_local_sgd"
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    """Train one epoch on this rank, and average with the others after every few updates.

    Args:
        model: Called on inputs [rows, features]; in train mode.
        optimizer: Holds its parameters.
        micro_batches: (inputs, targets) pairs of all ranks, with equal numbers of rows.
        k: Micro-batches for one update.
        every: Updates between two averages.
        average: average(model) averages a model over all ranks.
        rank: Number of this rank.
        world_size: How many ranks.
    """
    ### BEGIN SOLUTION
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)
    ### END SOLUTION


# %%
def average_weights(model):
    average_tensors(list(model.parameters()), dist.get_world_size())


def train_on_a_rank(rank, world_size, train_epoch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    micro_batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(14 * world_size)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_epoch(model, optimizer, micro_batches, 2, 3, average_weights, rank, world_size)
    return model[0].bias.detach()[:2]


run = look_at_ranks(train_on_a_rank, 3, train_epoch=train_local_sgd)
if run:
    print([weights.tolist() for weights in run.returned])
    print("all-reduces of each rank:", [one.collectives["all_reduce"] for one in run.traffic])

# %% check="check_local_sgd_updates" points=2 tags=["needs-loopback"]
check_local_sgd_updates(train_local_sgd)

# %% check="check_local_sgd_traffic" points=2 tags=["needs-loopback"]
check_local_sgd_traffic(train_local_sgd)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take your loop of lesson 2 with a short last group. Number its updates, from 1.<br>
# Then: two conditions lead to an average. Can both hold at one update? It is still a single average.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why is every counted in updates instead of micro-batches?</summary>
# Weights change only at updates: an average within a group would change the weights at which its gradients are
# computed.
# </details>

# %% [markdown]
# ## The same run with Accelerate
#
# Accelerate has a context for local SGD; the Trainer has no form. The cell contains the loop of Accelerate's guide,
# with accumulation. On **one** process, LocalSGD silently switches itself off.

# %% tags=["given"]
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from torch.utils.data import DataLoader, TensorDataset

from grader import check_local_sgd_accelerate


# %%
def train_as_in_the_guide(model, dataset, *_):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=4))
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=8, enabled=True) as local_sgd:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(inputs), targets))
                optimizer.step()
                optimizer.zero_grad()
                local_sgd.step()
    return local_sgd.enabled


def make_small_job(world_size):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    return model, TensorDataset(torch.randn(128 * world_size, 8), torch.randn(128 * world_size, 1))


print("enabled on one process:", train_as_in_the_guide(*make_small_job(1)))


# %%
def accelerate_on_a_rank(world_size, train_form):
    model, dataset = make_small_job(world_size)
    train_form(model, dataset, 4, 2, 8, 0.1)  # rows, k, every, learning rate: 32 micro-batches, 16 updates
    return model[2].bias.detach(), model[1].running_mean


def report(run):
    for rank, (bias, running_mean) in enumerate(run.returned if run else ()):
        calls = run.traffic[rank].collectives["all_reduce"] // 6  # the model has six parameters
        print(f"rank {rank}: {calls} averages   bias {bias[0]:.4f}   running mean {running_mean[0]:.4f}")


report(run_ranks(accelerate_on_a_rank, 2, train_form=train_as_in_the_guide))

# %% [markdown]
# Notice three things. First, 16 updates with `local_sgd_steps=8` should need two averages, but there were more:
# `step()` counts its **calls**, and here each call is one micro-batch, so it averaged after every 4 updates. Second,
# LocalSGD averages once more on exit, whether needed or not. Third, the running means differ between the ranks, because
# it averages no buffers.
#
# Its [source][accelerate_source] shows more: it averages all of `model.parameters()`, frozen ones included, and keeps
# the model in `no_sync` meanwhile, so the gradients stay on their ranks.
#
# [accelerate_source]: https://github.com/huggingface/accelerate/blob/main/src/accelerate/local_sgd.py

# %% [markdown]
# **Exercise.** Train with Accelerate's LocalSGD, so that the ranks average after every `every` **updates**.
#
# *Contract.*
# - Every rank calls your function, with equal models and the same `dataset` of (inputs, targets).
# - Deal out micro-batches of `rows` rows in order, as `accelerator.prepare` does, and run them once. `k` of a rank make
#   one update with the gradient of their mean loss, `F.mse_loss`; none are left over. Use SGD with `learning_rate`.
# - Prepare model and optimizer; use `accelerator.backward` and `LocalSGD`. The average that LocalSGD adds on exit may
#   stay.
#
# The check runs 2 and 3 ranks, and compares gradients and weights at every update, and bytes sent.


# %% exercise="train_local_sgd_with_accelerate"
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


# %%
report(look_at_ranks(accelerate_on_a_rank, 2, train_form=train_local_sgd_with_accelerate))

# %% check="check_local_sgd_accelerate" points=2 tags=["needs-loopback"]
check_local_sgd_accelerate(train_local_sgd_with_accelerate)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: two averages should be `every` updates apart. How many calls of step() does the guide make between them?<br>
# Then: either give LocalSGD a larger number, or call step() less often.
# </details>

# %% [markdown]
# PyTorch has its own form: `PostLocalSGDOptimizer` wraps an optimizer, and its averager averages the parameters after a
# step. It first averages at step `warmup_steps`, counted from 0, and from then on every `period` steps. The table
# compares all forms with the one you wrote by hand. **Plain** is data parallel training.


# %%
def train_by_hand(model, dataset, rows, k, every, learning_rate, train_epoch):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    ranks = dist.get_rank(), dist.get_world_size()
    train_epoch(model, optimizer, list(DataLoader(dataset, rows)), k, every, average_weights, *ranks)


# %%
def train_with_pytorch(model, dataset, rows, k, every, learning_rate, is_plain=False):
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    if not is_plain:
        optimizer = PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=every, warmup_steps=every - 1))
    own = list(DataLoader(dataset, rows))[dist.get_rank() :: dist.get_world_size()]
    for index, (inputs, targets) in enumerate(own):
        (F.mse_loss(model(inputs), targets) / k).backward()
        if (index + 1) % k == 0:
            if is_plain:
                average_tensors([parameter.grad for parameter in model.parameters()], dist.get_world_size())
            optimizer.step()
            optimizer.zero_grad()


# %%
def run_form(world_size, train_form, **options):
    import time

    for _ in range(2):  # the second one counts
        model, dataset = make_small_job(world_size)
        started = time.perf_counter()
        train_form(model, dataset, 4, 2, 8, 0.1, **options)
        seconds = time.perf_counter() - started
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]), seconds


forms = {"by hand": (train_by_hand, {"train_epoch": train_local_sgd})}
forms |= {"Accelerate": (train_local_sgd_with_accelerate, {}), "PyTorch": (train_with_pytorch, {})}
forms |= {"plain": (train_with_pytorch, {"is_plain": True})}
reference = None
print(f"{'16 updates, every = 8':<22} {'distance from by hand':>22} {'sent for an update':>19} {'step time':>10}")
for name, (train_form, options) in forms.items():
    run = look_at_ranks(run_form, 2, train_form=train_form, **options)
    if run:
        weights, seconds = run.returned[0]
        reference = weights if reference is None else reference
        sent = sum(size for kind, _, size in run.traffic[0].events if kind == "all_reduce") / 32
        print(f"{name:<22} {norm(weights - reference):>22.1e} {sent:>13,.0f} bytes {seconds / 16 * 1e3:>7.2f} ms")

# %% [markdown]
# Two averages for 16 updates send an eighth of the plain run's bytes, and Accelerate's third one, on exit, adds half as
# much again. In a run of 1,000 updates, that extra average would hardly count. PyTorch's form has no final average;
# here none is needed, because 16 is a multiple of 8.

# %% [markdown]
# ## The price
#
# Fewer synchronisations save bytes. What do they cost in loss? The cell runs the job three times for each `every`. In
# two of the runs, one with SGD and one with momentum, the rows are distributed at random. In the third they are
# **sorted**: rank 0 gets the rows with a small first feature, and rank 1 the others. The loss is that of the averaged
# weights on all rows.


# %%
def loss_of(weights, inputs, targets):
    model = make_job(0)[0]
    torch.nn.utils.vector_to_parameters(weights, model.parameters())
    return F.mse_loss(model(inputs), targets).item()


all_rows = make_job(0)[3]
choices, losses = [1, 2, 4, 8, 16, 60], {}
for name, is_sorted in (("SGD", False), ("SGD with momentum", False), ("SGD", True)):
    returned = run_ranks(train_all, 2, jobs=[(every, name, is_sorted) for every in choices]).returned
    means = [(first + second) / 2 for first, second in zip(*returned, strict=True)]
    losses[f"{name}, rows {'sorted' if is_sorted else 'at random'}"] = [loss_of(mean, *all_rows) for mean in means]

# %%
sent = [-(-60 // every) * parameter_bytes / 1024 for every in choices]
for every, kib in zip(choices, sent, strict=True):
    print(f"every = {every:>2}: synchronisations {-(-60 // every):>2}, {kib:5.1f} KiB from each rank into all_reduce")
draw_curves(
    choices,
    losses,
    title="Loss after 60 updates on 2 ranks",
    x_label="updates between two averages",
    y_label="loss on all rows",
)

# %% [markdown]
# For plain SGD with rows at random, even a single average at the end costs almost nothing here. With sorted rows, the
# loss rises with `every`. With momentum it also rises, though not steadily, even with rows at random. The next two
# cells look closer: one at sorted rows where the ranks never average, the other at three optimizers on rows at random.

# %%
alone = [one[0] for one in run_ranks(train_all, 2, jobs=[(61, "SGD", True)]).returned]
for rank, weights in enumerate(alone):
    _, *own_rows, _ = make_job(rank, True)
    own_loss, mean_loss = loss_of(weights, *own_rows), loss_of(sum(alone) / 2, *own_rows)
    print(f"sorted rows of rank {rank}: loss of its own weights {own_loss:.2f}, of the mean of both {mean_loss:.2f}")

# %%
print("rows at random       data parallel   every = 8   every = 60   largest drift with every = 8")
for name in ("SGD", "SGD with momentum", "AdamW"):
    returned = run_ranks(train_all, 2, jobs=[(every, name) for every in (0, 8, 60)]).returned
    ends = [loss_of((first + second) / 2, *all_rows) for first, second in zip(*returned, strict=True)]
    largest = max(drift_of(run_ranks(train, 2, every=8, name=name)))
    print(f"{name:<20} {ends[0]:>13.3f} {ends[1]:>11.3f} {ends[2]:>12.3f} {largest:>30.3f}")

# %% [markdown]
# With sorted rows, each rank is drawn towards weights that suit its own rows, and the mean suits neither. So shuffle
# before you distribute rows.
#
# With momentum, at the same learning rate, the ranks move farther apart between two averages, and the mean of two
# distant models may be a worse one. The price is not proportional to `every`: compare the curve at 4 and at 8. AdamW,
# at its own learning rate, drifts more than twice as far as SGD but pays little here, so drift alone does not determine
# the price. Test local SGD with the optimizer that you use.

# %% [markdown]
# | | data parallel | local SGD |
# |---|---|---|
# | memory of a device | weights, gradients, state, buckets | weights, gradients, state |
# | sent for `U` updates | `U` x gradients | `U / every`, rounded up, x (weights and statistics) |
# | gradient of an update | of all rows | of a rank's rows |
# | equal to one process | yes, without batch normalisation | likewise, if each linear step is followed by an average |
#
# The bytes that go into an all-reduce are not yet those that cross the network. In a ring of N ranks, each rank sends
# `2 (N - 1) / N` times as much.

# %%
weight_bytes = 4 * 65_783_042  # DistilBERT, as in lesson 15
for every in (1, 8, 64):
    sent_mib = 2 * (8 - 1) / 8 * weight_bytes / MIB / every
    print(f"8 ranks in a ring, every = {every:>2}: each rank sends {sent_mib:6.1f} MiB for an update, on average")

# %% [markdown]
# ## DiLoCo
#
# Why learn this now? Language models are trained across data centres with **DiLoCo**: each rank takes several hundred
# steps of AdamW, the *inner* optimizer. Then the ranks average how far they have moved, and an *outer* optimizer, SGD
# with Nesterov momentum, takes this mean **difference** as its gradient. With learning rate 1 and no momentum, that is
# local SGD. DiLoCo sends as much as local SGD: one model every `every` updates. The paper uses 500 inner steps, an
# outer learning rate of 0.7 and momentum 0.9, and reports the quality of data parallel training on 8 workers with 1 /
# 500 of the communication.


# %%
def train_diloco(rank, world_size, every, rate, outer_rate, outer_momentum):
    model, inputs, targets, _ = make_job(rank)
    parameters = list(model.parameters())
    shared = [parameter.detach().clone() for parameter in parameters]  # the weights of the last synchronisation
    inner = torch.optim.AdamW(parameters, lr=rate)
    outer = torch.optim.SGD(shared, lr=outer_rate, momentum=outer_momentum, nesterov=outer_momentum > 0)
    for update in range(60):
        inner.zero_grad()
        F.mse_loss(model(inputs[update]), targets[update]).backward()
        inner.step()
        if (update + 1) % every == 0:
            average_tensors(parameters, world_size)
            for old, parameter in zip(shared, parameters, strict=True):
                old.grad = old - parameter.detach()
            outer.step()
            with torch.no_grad():
                [parameter.copy_(old) for old, parameter in zip(shared, parameters, strict=True)]
    return torch.cat([parameter.detach().flatten() for parameter in parameters])


def train_several(rank, world_size, jobs):
    return [train_diloco(rank, world_size, *job) for job in jobs]


# %%
outers = {"every update": None, "local SGD": (1.0, 0.0), "DiLoCo, momentum 0.5": (0.7, 0.5), "DiLoCo, 0.9": (0.7, 0.9)}
rates = (0.003, 0.01, 0.03)
for name, outer in outers.items():
    every = 15 if outer else 1
    jobs = [(every, rate, *(outer or (1.0, 0.0))) for rate in rates]
    ends = run_ranks(train_several, 2, jobs=jobs).returned[0]
    tried = [loss_of(weights, *all_rows) for weights in ends]
    sent = 60 // every * parameter_bytes / 1024
    print(f"{name:<21} every = {every:>2}, {sent:5.1f} KiB sent, loss {min(tried):.3f} at AdamW's best rate of {rates}")

# %% [markdown]
# Every method has the best of the same three inner rates; the first row averages weights after every update. With a
# fifteenth of its bytes, local SGD ends with a higher loss. DiLoCo with momentum 0.9 recovers more than half of the
# difference for the same bytes, because its outer momentum continues in the direction on which the ranks have agreed.
# Its price is one more copy of the weights and a momentum buffer on each rank, and two more hyperparameters. Tune them,
# since 4 synchronisations of a small job say little about yours.

# %% [markdown] tags=["further"]
# ## Further: bug hunt
#
# A published course explains gradient synchronisation as follows: a **driver node** updates the parameters, and passes
# them to each device. It also says that local SGD reduces how often gradients are synchronised.
#
# Both statements can be tested. If a driver updated the parameters, what would the other ranks' optimizers do? And what
# is synchronised in local SGD? Before you run the cell, write down what each statement predicts.


# %%
def watch_training(rank, world_size, every):
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    steps = []
    hook = register_optimizer_step_pre_hook(lambda *_: steps.append(rank))
    train(rank, world_size, every)
    hook.remove()
    return len(steps)


for name, every in (("data parallel", 0), ("local SGD, every = 8", 8)):
    run = run_ranks(watch_training, 2, every=every)
    for rank, steps in enumerate(run.returned):
        print(f"{name:<21} rank {rank}: {steps} steps of its optimizer, {dict(run.traffic[rank].collectives)}")

# %% [markdown]
# <details><summary>The two faults</summary>
# No rank is a driver: each takes every step itself, and takes part in the same number of all-reduces. A driver would
# step alone, and a broadcast would follow each of its steps. In local SGD, no gradient is synchronised at all; the
# parameters are averaged. If you average gradients at every eighth update instead, the ranks drift apart.
# </details>
#
# Systems with such a driver do exist: it is called a **parameter server**. Neither DDP nor local SGD uses one.

# %% [markdown]
# **Exercise.** Write the test that settles this question for any training run.
#
# *Contract.* Every rank calls your function, with equal models. Call `train(model, optimizer)` once on each rank. Then
# return, the same on every rank,
# - `"gradients"` if all ranks stepped, and with the same gradient at every step;
# - `"parameters"` if all ranks stepped, not always with the same gradient, and hold the same weights in the end;
# - `"driver"` if only one rank stepped; any rank may be the driver;
# - `"nothing"` if all ranks stepped and their weights differ in the end.

# %% [markdown]
# *Contract, continued.*
# - Either one rank steps or all do, and those that step take equally many steps.
# - Weights are `model.parameters()`. The same means equal to the last bit: 0 and -0 differ, and a NaN equals the same
#   NaN. A gradient counts as it is at the moment when a rank steps with it.
# - Leave none of your hooks behind, and `optimizer.step` as it was.
#
# The check runs 2 and 3 ranks.

# %% tags=["given"]
from grader import check_local_sgd_method


# %% exercise="what_is_averaged"
def what_is_averaged(train, model, optimizer) -> str:
    """Tell what a training on several ranks averages.

    Args:
        train: train(model, optimizer) trains this rank's model; every rank has to call it.
        model: A module on the CPU.
        optimizer: Holds its parameters; takes all steps of this rank.

    Returns:
        "gradients", "parameters", "driver" or "nothing"; the same on every rank.
    """
    ### BEGIN SOLUTION
    gradients = []

    def bits_of(tensors):
        return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy().tobytes()

    def note(*_):
        gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
    ### END SOLUTION


# %%
def ask_rank(rank, world_size, what):
    def train_here(model, optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.full((1, 2), rank + 1.0)).sum().backward()
            optimizer.step()
            average_tensors(list(model.parameters()), world_size)

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    print(what(train_here, model, torch.optim.SGD(model.parameters(), lr=0.1)))


run = look_at_ranks(ask_rank, 2, what=what_is_averaged)

# %% check="check_local_sgd_method" points=1 tags=["needs-loopback"]
check_local_sgd_method(what_is_averaged)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: optimizer.register_step_pre_hook(hook) calls hook before each step. What do you want to copy there?<br>
# Then: dist.all_gather_object(list_of_all, own) fills a list with what each rank contributes. tensor.numpy().tobytes()
# holds every bit, in order.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>60 updates with every = 8: how many synchronisations, and why not 7?</summary>
# 8: the last four updates need a final average.
# </details>
# <details><summary>When is local SGD exactly data parallel training?</summary>
# With every = 1, or one update in total, if the step is linear: SGD, also with momentum. Not clipping, not AdamW.
# </details>
# <details><summary>What has to be averaged besides trained parameters?</summary>
# Floating-point buffers, such as running statistics. Not counters, frozen parameters, gradients or optimizer state.
# </details>
#
# **Takeaway: local SGD averages weights, not gradients, every few updates and at the end; it saves communication, and
# drift alone does not tell what it costs in loss.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 17, model and pipeline parallel.

# %% [markdown]
# **Sources**
# - [Stich, Local SGD Converges Fast and Communicates Little][stich]: local SGD, and its convergence.
# - [Douillard and others, DiLoCo][diloco]: the inner and the outer optimizer, and 500 times less communication.
# - [Zhang and others, Parallel SGD: When does averaging help?][zhang]: averages during training and at the end.
# - [Accelerate, LocalSGD][accelerate]: the loop of the guide.
# - [PyTorch, SGD][sgd] and [AdamW][adamw]: the formulas of their steps.
# - [PyTorch, distributed communication][dist]: `all_reduce`, `all_gather_object`.
# - [Li and others, Scaling Distributed Machine Learning with the Parameter Server][server]: what a driver is called.
# - [Efficient AI Model Training with PyTorch][published]: the account of the bug hunt.
#
# [stich]: https://arxiv.org/abs/1805.09767
# [diloco]: https://arxiv.org/abs/2311.08105
# [zhang]: https://arxiv.org/abs/1606.07365
# [accelerate]: https://huggingface.co/docs/accelerate/usage_guides/local_sgd
# [sgd]: https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
# [adamw]: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
# [dist]: https://docs.pytorch.org/docs/stable/distributed.html
# [server]: https://www.usenix.org/conference/osdi14/technical-sessions/presentation/li_mu
# [published]: https://www.datacamp.com/courses/efficient-ai-model-training-with-pytorch
