# %% [markdown]
# # 1. Where memory goes
#
# You measure one training step byte by byte, predict its peak, and forecast a model that your machine could not train.
#
# 50 min (estimated) · CPU is enough · after lesson 00

# %% [markdown]
# **You will be able to**
# - predict the peak of a training step to the byte, and say when it occurs;
# - forecast a large model from two small ones;
# - find the name that keeps memory alive.

# %% tags=["given"]
import torch

from grader import MIB, check_step_peak, device_name, format_bytes, lesson_device, look, make_chain, measure_peak_memory

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>What is left in .grad after two backward passes without zero_grad()?</summary>
# The sum of both gradients.
# </details>
# <details><summary>Which form of training says nothing about clipping, and clips?</summary>
# The Trainer: `max_grad_norm` is 1.0 unless you set it.
# </details>

# %% [markdown]
# **The problem.** The model is a chain of 16 blocks: Linear(256, 1024), GELU, Linear(1024, 256). Its parameters take
# 32.1 MiB. You train it with AdamW on 512 rows of 256 numbers, which are half a MiB.
#
# On a CPU, one training step holds 171.7 MiB. That is five times the model. What is the rest, when is it there, and
# which of it would a smaller batch save?


# %% tags=["given"]
def make_step(blocks: int, width: int, hidden: int, batch: int, place=device) -> dict:
    """One AdamW update of a chain, as measure_peak_memory takes it."""
    model = make_chain(blocks, width, hidden).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    inputs = torch.randn(batch, width, device=place)  # [batch, width]

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


# %% [markdown]
# ## Five kinds of memory
#
# | kind | what it is | alive |
# |---|---|---|
# | parameters | weights and biases | always |
# | gradients | one number for each parameter | from backward until `zero_grad()` |
# | optimizer state | what the optimizer remembers | from the first update on |
# | activations | what forward keeps for backward | from forward until backward has used them |
# | buffers | what one operation needs for a moment | within the operation |
#
# A step also reads its input. On a GPU, CUDA itself takes memory before any tensor exists: the *context*. It belongs
# to no kind, and no formula here contains it.

# %% [markdown]
# ## Predict: the peak of a step
#
# What counts is the **peak**: the most that is held at once. In this step it lies at one of two moments.
#
# 1. **Backward begins.** Forward is done, and all activations are there.
# 2. **The optimizer updates a weight.** Backward is done.
#
# Go through `step` line by line. For each moment, ask of each kind: is it alive? Take the second call of `step`, or
# any later one: the first has no optimizer state while it runs forward.

# %% [markdown]
# These are the pieces. All are counted in numbers; `w` is `width`, `h` is `hidden`.
#
# - *Parameters* of one block: two weights of `w * h`, biases of `h` and of `w`.
# - *State* of AdamW: two moments for each parameter, and one step counter for each tensor.
# - *Input*: `batch * w`.
# - *Activations* of one block: `batch * h` before GELU, `batch * h` after it, `batch * w` at its end.
# - *Buffers when backward begins*: the loss, 1, and its gradient, 1; then the gradients of the last layer's input,
#   `batch * h`, of its weight, `w * h`, and of its bias, `w`.
# - *Buffers in the update*: two as large as a weight, `w * h` each, and one of `h`.

# %% [markdown]
# Three of these need a word.
#
# - A block has four tensors: two weights and two biases. So it has four step counters.
# - Count every block's output, the last one's too. When backward begins, its gradient has just taken its place, at
#   equal size.
# - The buffer of `h` numbers in the update is a leftover. AdamW's loop walks from tensor to tensor. While it computes
#   a weight, one of its names still holds the buffer of the bias before.

# %% [markdown]
# *Contract.* Return the bytes at the peak; a number is float32, 4 bytes. It is judged to the byte, with the operators
# of the CPU, on other chains and batches. In each of them `hidden` is at least four times `width`: with a narrower
# one the peak can lie at a third moment. Compute it: the meter and the forecast do not answer inside your function.


# %% exercise="predict_step_peak"
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    """Bytes held at the peak of one AdamW update of a chain, from the second update on.

    Args:
        blocks: Blocks of Linear(width, hidden), GELU, Linear(hidden, width), each with biases.
        width: Features of the input and between the blocks.
        hidden: Features inside a block; at least four times `width`.
        batch: Rows of the input [batch, width].

    Returns:
        Bytes; every number is float32.
    """
    ### BEGIN SOLUTION
    parameters = blocks * (2 * width * hidden + width + hidden)
    state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
    held_always = parameters + state + batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
    ### END SOLUTION


# %%
look(lambda: format_bytes(predict_step_peak(16, 256, 1024, 512)))

# %% check="check_step_peak" points=3
check_step_peak(predict_step_peak)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: make a table with two columns, one for each moment, and tick the kinds that are alive.<br>
# Then: during backward the activations shrink and the gradients grow. All of both are never there together. Which of
# them is there at its start, and which at its end?
# </details>

# %% [markdown]
# **Run.** Now the meter. `measure_peak_memory` runs the step twice and watches every operator, every storage that it
# allocates, and the moment at which the storage is freed. It reports the second call.

# %%
peaks = {f"{batch} rows": measure_peak_memory(**make_step(16, 256, 1024, batch)) for batch in (512, 32)}
for (name, peak), batch in zip(peaks.items(), (512, 32), strict=True):
    predicted = look(predict_step_peak, 16, 256, 1024, batch)
    beside = f"predicted {predicted:,}, ratio {predicted / peak.peak_bytes:.6f}" if predicted else ""
    print(f"{name:<9} measured {peak.peak_bytes:,} bytes, {format_bytes(peak.peak_bytes)}   {beside}")

# %%
from grader import draw_timelines

draw_timelines(peaks, title="One training step, 16 blocks")

# %% [markdown]
# **Investigate.** The picture is your own run, from left to right: every allocation and every free. *Other* is the
# input, and buffers.
#
# With 512 rows the activations grow through forward, and the peak lies where backward begins. The gradients of the
# step before are gone: `zero_grad()` freed them. Then each block of backward frees activations and adds gradients.
#
# With 32 rows the activations are a thin wedge. Gradients outgrow them, and the peak lies in the update.
#
# On a CPU your formula meets both to the byte. On a GPU some operators need other buffers.

# %% [markdown]
# | kind, 512 rows | size | backward begins | the update |
# |---|---|---|---|
# | parameters | 32.1 MiB | yes | yes |
# | optimizer state | 64.2 MiB | yes | yes |
# | gradients | 32.1 MiB | not yet | yes |
# | activations | 72.0 MiB | yes | no more |
#
# The rest of the 171.7 MiB, 3.4 MiB, is the input and the buffers. Among these are the gradients of the last layer:
# *other*, until they are in `.grad`.
#
# In words: *the peak is the state of the model plus the larger of two guests, activations or gradients.*
#
# **Names.** *Peak memory*; on CUDA `requested_bytes.all.peak` of `torch.cuda.memory_stats()`. Activations that autograd
# keeps are *saved tensors*. One *MiB* is `2**20` bytes. A *MB* is `10**6`, and many tools print MiB under that name.

# %% [markdown]
# **Modify.** Change `batch` in the next cell. Before you run it: does a batch of 128 rows lower the peak of 32 rows,
# raise it, or leave it? At which batch are both moments equally high?

# %%
batch = 128
moved = measure_peak_memory(**make_step(16, 256, 1024, batch))
print(f"{batch} rows: peak {format_bytes(moved.peak_bytes)}, gradients in it {format_bytes(moved.gradient_bytes)}")

# %% [markdown]
# <details><summary>Answer</summary>
# It leaves it, but for a larger input: the peak lies in the update, where no activation is left. The two moments meet
# between 228 and 229 rows. Below that, a smaller batch saves nothing.
# </details>
#
# **Inference** needs no gradients, no state, and no activations for later. Under `torch.no_grad()` an activation dies
# as soon as the next layer has used it: at most two are there, before and after GELU. The next cell runs the same
# model on the same 512 rows.

# %%
job = make_step(16, 256, 1024, 512)


@torch.no_grad()
def run_inference():
    job["model"](job["inputs"])


print(measure_peak_memory(run_inference, model=job["model"], inputs=job["inputs"]))

# %% [markdown]
# A training step does not fit. Which of **three cases** is it? Each has its own cure.
#
# | what does not fit | cure | lessons |
# |---|---|---|
# | the batch, though one row would | smaller micro-batches | 02 |
# | one single row | keep less of forward, or smaller numbers | 03, 05, 12 |
# | the parameters with gradients and state | smaller state or weights, several devices | 06 to 08, 17 to 20 |
#
# <details><summary>Explain in one sentence: your peak lies in the update. What does a smaller batch save?</summary>
# Its input, and nothing else: no activation is alive in the update.
# </details>

# %% [markdown]
# ## Complete: BERT-large from two small ones
#
# BERT-large has 24 layers and 335 million parameters. `forecast_peak_memory` measures a step on tensors that have a
# shape and no data. So the model need not fit, and nothing is computed. On the CPU's operators, a forecast is the
# measurement, to the byte.
#
# A worked example: the chain with 16 blocks, from chains with 4 and 8. All blocks are alike. So each block adds the
# same bytes, and the rest is there once.

# %% tags=["given"]
from grader import bert_large_recipe, check_extrapolated_peak, forecast_peak_memory


def forecast_chain(blocks: int) -> int:
    """Peak in bytes of one AdamW update of a chain, 512 rows, with the operators of the CPU."""
    return forecast_peak_memory(lambda: make_step(blocks, 256, 1024, 512, "cpu"), operators="cpu").peak_bytes


def forecast_bert(layers: int) -> int:
    """Peak in bytes of one AdamW update of BERT-large with so many layers, 4 rows of 512 tokens."""
    return forecast_peak_memory(bert_large_recipe("vanilla", layers=layers), operators="cpu").peak_bytes


# %%
four, eight, sixteen = (forecast_chain(blocks) for blocks in (4, 8, 16))
print(f" 4 blocks {four:>11,} bytes")
print(f" 8 blocks {eight:>11,} bytes, {eight - four:,} more")
print(f"16 blocks {sixteen:>11,} bytes, {sixteen - eight:,} more: twice the difference, for twice the blocks")
print(f"measured  {peaks['512 rows'].peak_bytes:>11,} bytes with 16 blocks")

# %% [markdown]
# **Exercise.** Complete the function.
#
# *Contract.* All layers are alike, and the peak lies at the same moment in all sizes. `forecast_layers(n)` returns
# the peak in bytes for `n` layers. It answers for `few` and for `more` only, which need not be 2 and 4. Return the
# bytes for `layers`. It is judged on BERT-large, and on made-up models with other numbers of layers.


# %% exercise="extrapolate_peak"
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    """Peak of a model with many layers, from two models with few.

    Args:
        forecast_layers: Function of a number of layers; returns the peak in bytes. Only for `few` and `more`.
        few: Layers of the smaller small model.
        more: Layers of the larger small model.
        layers: Layers of the model that is asked for.

    Returns:
        Bytes.
    """
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    ### BEGIN SOLUTION
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    fixed_bytes = few_bytes - few * layer_bytes
    return fixed_bytes + layers * layer_bytes
    ### END SOLUTION


# %%
extrapolated = look(extrapolate_peak, forecast_bert, 2, 4, 24)
if extrapolated:
    print(f"BERT-large: {extrapolated:,} bytes, {format_bytes(extrapolated)}")

# %% check="check_extrapolated_peak" points=2
check_extrapolated_peak(extrapolate_peak)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many layers lie between the two small models, and what do they cost together?<br>
# Then: take the small model apart. Which of its bytes belong to its layers, and which would be there with no layer?
# </details>

# %% [markdown]
# Is it true? The next cell forecasts all 24 layers. It takes 2 to 10 seconds.

# %%
large = forecast_peak_memory(bert_large_recipe("vanilla"), operators="cpu")
print(f"24 layers, forecast whole: {large.peak_bytes:,} bytes")
print(large)

# %% [markdown]
# To the byte. The 4.0 MiB of gradients are those of the last layer, as in the chain: backward has begun.
#
# <details><summary>Explain in one sentence: why is 24 / 2 times the peak of two layers too much?</summary>
# Embeddings, classifier, input and buffers are there once, however many layers follow: they would be counted 12 times.
# </details>
#
# **Modify.** In the cell that prints BERT-large, ask for 48 layers. Before you run it: is the result more or less than
# twice the bytes of 24 layers?
#
# <details><summary>Answer</summary>
# A little less: the layers double, and the fixed part is there once.
# </details>

# %% [markdown]
# ## Write: the name that keeps memory alive
#
# Memory is freed when nothing holds it any more. In a notebook every name at the top holds something, for as long as
# the kernel lives. So "I deleted the model, and memory did not fall" is a frequent question.
#
# The next step evaluates a model and keeps each loss in a list. A loss holds its graph, and a graph holds the
# activations. The meter refuses to measure such a step: it asks for more with every call.

# %%
history = []


def evaluate_and_keep():
    history.append(job["model"](job["inputs"]).square().mean())


try:
    measure_peak_memory(evaluate_and_keep, model=job["model"], inputs=job["inputs"])
except ValueError as error:
    print(error)
history.clear()

# %% [markdown]
# The cure is `.item()`, or `torch.no_grad()` around the step.
#
# The second trap has no graph. A tensor is a *view*: a shape, laid over a **storage**. Storage is what takes memory. A
# slice of a tensor is another view of the same storage.

# %%
logits = torch.zeros(4096, 1024)  # [rows, classes]
first_row = logits[:1]
print(f"first_row: {format_bytes(first_row.nbytes)} of numbers, in a storage of", end=" ")
print(format_bytes(first_row.untyped_storage().nbytes()))
print(f"the same storage: {first_row.untyped_storage().data_ptr() == logits.untyped_storage().data_ptr()}")
del logits
print(f"after `del logits`, first_row still holds {format_bytes(first_row.untyped_storage().nbytes())}")

# %% [markdown]
# So `del logits` freed nothing: `first_row` keeps all 16 MiB alive. And while both names existed, deleting either one
# would have freed nothing. `first_row.clone()` would have been a storage of its own.
#
# `untyped_storage()` returns the storage of a tensor. Its `data_ptr()` is an address that no other living storage has.
# Its `nbytes()` are what it takes. A tensor has a `data_ptr()` too: that is where its own view begins.

# %% tags=["given"]
from torch import nn

from grader import check_freed_bytes


def tensors_of(value) -> list:
    """All tensors that a tensor, a module, an optimizer, or a list, tuple or dict of these holds."""
    if isinstance(value, torch.Tensor):
        return [value] + ([value.grad] if value.is_leaf and value.grad is not None else [])
    if isinstance(value, nn.Module):
        value = [*value.parameters(), *value.buffers()]
    elif isinstance(value, torch.optim.Optimizer):
        value = [[group["params"] for group in value.param_groups], list(value.state.values())]
    elif isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, list | tuple) else []


# %% [markdown]
# **Exercise.** Write the tool that finds the culprit: for each name, what `del` would free.
#
# *Contract.* `namespace` maps names to objects of any type. A storage is freed when the **last** name that holds it
# is deleted. `freed_bytes` says for each name, taken alone, how many bytes its deletion frees. Every name of the
# namespace is a key. `tensors_of` lists the tensors behind an object, gradients included; a number or a string has
# none. Leave the namespace as it is. It is judged on namespaces of training scripts: with views, shared and tied
# tensors, optimizers, old models.


# %% exercise="freed_bytes"
def freed_bytes(namespace: dict) -> dict[str, int]:
    """Bytes of memory that each name alone keeps alive: what `del name` would free.

    Args:
        namespace: Objects by name, as globals() returns them.

    Returns:
        Bytes for every name; 0 where deleting it frees nothing.
    """
    ### BEGIN SOLUTION
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    freed = dict.fromkeys(namespace, 0)
    for pointer, names in names_of.items():
        if len(names) == 1:
            freed[min(names)] += bytes_of[pointer]
    return freed
    ### END SOLUTION


# %%
old_model, model = make_chain(4, 256, 1024), make_chain(4, 256, 1024)
scene = {"model": model, "optimizer": torch.optim.AdamW(model.parameters()), "first_row": first_row, "rate": 0.1}
scene |= {"best": {"epoch": 3, "model": old_model}, "batch": torch.zeros(512, 256)}
for name, freed in sorted((look(freed_bytes, scene) or {}).items(), key=lambda item: -item[1]):
    print(f"del {name:<10} frees {format_bytes(freed)}")

# %% check="check_freed_bytes" points=3
check_freed_bytes(freed_bytes)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: turn the question round. For each storage, which names hold it?<br>
# Then: a storage counts for a name only if no other name holds it. What identifies a storage, and what does not: the
# tensor, its shape, its first element?
# </details>

# %% [markdown]
# An old model hides in `best`, and one row keeps 16 MiB. Deleting `model` frees nothing: the optimizer holds the same
# parameters. **Both** names have to go.
#
# What this tool does not see: graphs, and names inside functions that have not returned. In a notebook, `Out` keeps
# every result that a cell displayed, and the last error keeps all variables of the function that raised it.
#
# <details><summary>Explain in one sentence: why does del model often free nothing?</summary>
# The optimizer, another name, or the notebook's own history still holds its parameters.
# </details>

# %% [markdown]
# ## The price
#
# Measuring costs time: on a CPU the meter looks at every operator. Before you run the cell: by which factor is a
# measured step slower?

# %%
from grader import measure_step_time

job = make_step(16, 256, 1024, 512)
plain_step = job["step"]


def two_measured_steps():
    measure_peak_memory(**job)


def two_plain_steps():
    plain_step()
    plain_step()


print(measure_step_time(two_plain_steps, two_measured_steps, run_count=2, warm_up_count=0))

# %% [markdown]
# Both steps of a measurement are watched. The meter takes a fixed time for each operator, so small operators suffer
# most.
#
# A forecast costs no memory, and a few seconds for BERT-large. What it cannot say is how fast the step will be.
#
# | | needs the device | needs the memory | to the byte |
# |---|---|---|---|
# | formula | no | no | if you forgot nothing |
# | forecast | no | no | on a CPU |
# | measurement | yes | yes | yes |

# %% [markdown] tags=["further"]
# ## Further: build the meter
#
# The meter is no magic. PyTorch calls every operator through a dispatcher, and a *dispatch mode* may stand in
# between. `Watch` below does so: after each operator it reports the tensors that went in and those that came out.

# %% tags=["given"]
import weakref

from torch.utils._python_dispatch import TorchDispatchMode

from grader import check_own_meter


class Watch(TorchDispatchMode):
    """Reports every operator: calls report(tensors that went in, tensors that came out)."""

    def __init__(self, report):
        super().__init__()
        self.report = report

    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        result = operator(*arguments, **(keywords or {}))
        self.report(tensors_of([*arguments, keywords or {}]), tensors_of([result]))
        return result


# %%
def show(tensors_in, tensors_out):
    print([list(tensor.shape) for tensor in tensors_in], "->", [list(tensor.shape) for tensor in tensors_out])


with Watch(show):
    (torch.zeros(3, 4) @ torch.zeros(4, 2)).add_(1).sum()

# %% [markdown]
# `add_` returns the tensor that went in: nothing is allocated. When is a storage freed? Python can tell you:
# `weakref.finalize(storage, function, *arguments)` calls the function when the storage goes away.

# %%
noted = torch.zeros(1000)
weakref.finalize(noted.untyped_storage(), print, "freed:", noted.untyped_storage().nbytes(), "bytes")
view = noted[:10]
del noted
print("deleted the name; a view is still there")
del view

# %% [markdown]
# **Exercise.** Write the meter: what a step allocates and holds at once.
#
# *Contract.* Call `step` once. A storage counts from the operator that allocates it until it is freed, with all its
# bytes, once. A storage that went into an operator existed before, and so did one that you have seen. What existed
# before the call does not count; it may die during the call. An operator may return no tensor, or several. The key of
# a storage is `storage._cdata`: two living storages never share one, and it may come back after a storage has died.
# By hand: without the meters of `grader`.


# %% exercise="peak_above_entry"
def peak_above_entry(step) -> int:
    """Most bytes that a call of `step` allocates and holds at once, measured by hand.

    Args:
        step: Function of no arguments.

    Returns:
        Bytes; each storage once, without those that existed before the call.
    """
    ### BEGIN SOLUTION
    held, peak = {}, 0  # bytes of every storage that is alive, by key

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for storage in (tensor.untyped_storage() for tensor in tensors_out):
            if storage._cdata not in older and storage._cdata not in held:
                held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, held.pop, storage._cdata)
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak
    ### END SOLUTION


# %%
own = look(peak_above_entry, make_step(16, 256, 1024, 32, "cpu")["step"])
print(f"your meter, first step with 32 rows: {format_bytes(own) if own else 'not yet'}")

# %% check="check_own_meter" points=2
check_own_meter(peak_above_entry)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: two things are enough: what is held now, storage by storage, and the most so far.<br>
# Then: a key may come back after its storage is freed. Who takes it out of what you keep?
# </details>

# %% [markdown]
# ## Further: allocated, reserved, occupied
#
# On a GPU three numbers are called "memory used".
#
# | number | counts | read by |
# |---|---|---|
# | allocated | bytes in tensors | `torch.cuda.memory_allocated()` |
# | reserved | what PyTorch's allocator took from the device, and keeps | `torch.cuda.memory_reserved()` |
# | occupied | all that is in use on the device | `nvidia-smi` |
#
# Freed tensors leave `allocated`, and stay in `reserved`: the allocator keeps them as a *cache* for the next tensors.
# `torch.cuda.empty_cache()` gives the unused part back to the device. The context is in `occupied` alone.
#
# `allocated` also counts what the allocator rounds up or leaves unsplit; our meter reads the bytes *requested*. The
# workspaces of cuBLAS are in both.

# %%
from grader import BERT_LARGE_ROWS, device_facts

print(device_facts())
print("a published V100 with 16,160 MiB in all; one process")
print("  after the first tensor, of 4 bytes: 1,343 MiB occupied")
print("  after loading BERT-large:           2,631 MiB occupied")
print(f"  parameters of BERT-large:           {335_143_938 * 4 / MIB:,.1f} MiB allocated")

# %% tags=["given"]
from grader import check_occupied_memory

# %% [markdown]
# **Exercise.** Read the three numbers for someone who has run out of memory.
#
# *Contract.* All are bytes, of one process that has the GPU to itself. See the three keys below. It is judged on the
# published V100, and on other devices.


# %% exercise="read_occupied"
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    """Explain what a GPU's memory is occupied by; one process uses the GPU.

    Args:
        allocated: Bytes in tensors, torch.cuda.memory_allocated().
        reserved: Bytes that PyTorch's allocator took from the device, torch.cuda.memory_reserved().
        occupied: Bytes that the device says are in use, as nvidia-smi shows them.
        total: Bytes that the device has.

    Returns:
        "outside": bytes in use that the allocator knows nothing of;
        "after_empty_cache": what nvidia-smi would show after torch.cuda.empty_cache();
        "for_new_tensors": bytes that new tensors can still take, if no memory is fragmented.
    """
    ### BEGIN SOLUTION
    cached = reserved - allocated
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - cached,
        "for_new_tensors": total - occupied + cached,
    }
    ### END SOLUTION


# %%
look(read_occupied, int(1278.5 * MIB), 1288 * MIB, 2631 * MIB, 16160 * MIB)

# %% check="check_occupied_memory" points=1
check_occupied_memory(read_occupied)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw one bar for the device and mark the three numbers on it; each contains the one before.<br>
# Then: the piece between allocated and reserved is free for one process and taken for all others.
# </details>

# %% [markdown]
# ## Further: what a forecast leaves out
#
# A guide to training on one GPU published what `nvidia-smi` showed for BERT-large: 4 rows of 512 tokens, AdamW, a
# V100. Here is our forecast of that run, with the operators that CUDA would choose. These are *emulated*: rules taken
# from PyTorch's source, not yet confirmed on a device.

# %%
on_cuda = forecast_peak_memory(bert_large_recipe("vanilla"))
row = BERT_LARGE_ROWS["vanilla"]
print(f"forecast, operators of the CPU       {large.peak_bytes / MIB:>7,.0f} MiB")
print(f"forecast, CUDA's operators emulated  {on_cuda.peak_bytes / MIB:>7,.0f} MiB")
print(f"published, occupied                  {row.occupied_mib:>7,} MiB")
print(f"published, less the context          {row.less_context_mib:>7,} MiB")
print(f"not forecast                         {row.less_context_mib - on_cuda.peak_bytes / MIB:>7,.0f} MiB")
print("not forecast: allocator reserve and fragmentation")

# %% [markdown]
# Two differences have a cause that you can name. CUDA's dropout keeps a mask of one byte for each number, the CPU's
# one of four. And `nvidia-smi` shows what the allocator reserved at its fullest, not what tensors held.
#
# So a forecast below the device's memory is a good sign, and no promise. Leave room for the context and for a
# reserve.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>At which two moments can the peak of a step lie?</summary>
# Where backward begins, with all activations and the first gradients; or in the update, with all gradients and no
# activation.
# </details>
# <details><summary>What does a forecast from two small models need to be true?</summary>
# Layers that are alike, and a peak at the same moment in all sizes.
# </details>
# <details><summary>When is a tensor's memory freed?</summary>
# When the last name, list or graph that holds its storage lets go: a view counts as much as the tensor itself.
# </details>
#
# **Takeaway: memory is a question of when, not only of how much.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 02, gradient accumulation.

# %% [markdown]
# **Sources**
# - [Efficient training on a single GPU][guide]: the kinds of memory, and the V100 figures.
# - [PyTorch, CUDA memory management][cuda]: allocated, reserved, `empty_cache`.
# - [PyTorch, tensor views][views]: which operations share a storage.
# - [PyTorch, fake tensors][fake]: tensors with a shape and no data.
#
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
# [cuda]: https://docs.pytorch.org/docs/stable/notes/cuda.html
# [views]: https://docs.pytorch.org/docs/stable/tensor_view.html
# [fake]: https://docs.pytorch.org/docs/stable/torch.compiler_fake_tensor.html
