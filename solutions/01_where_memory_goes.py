# %% [markdown]
# # 1. Where memory goes
#
# You measure one training step byte by byte, predict its peak, and forecast a model that your machine could not train.
#
# 60 min (estimated) · CPU is enough · after lesson 00

# %% [markdown]
# **You will be able to**
# - predict the peak of a training step within 2 %, and say when it occurs;
# - derive what one transformer layer keeps, and forecast a large model from two small ones;
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
# <details><summary>Which form of training clips without being asked to?</summary>
# The Trainer: `max_grad_norm` is 1.0 unless you set it.
# </details>

# %% [markdown]
# **The problem.** The model is a chain of 16 blocks: Linear(256, 1024), GELU, Linear(1024, 256). Its parameters take
# 32.1 MiB. You train it with AdamW on 512 rows of 256 numbers, which are half a MiB.
#
# On a CPU, one training step holds 171.7 MiB. That is five times the model. What is the rest, when is it held, and
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
# | kind | what it is | held |
# |---|---|---|
# | parameters | weights and biases | always |
# | gradients | one number for each parameter | from backward until `zero_grad()` |
# | optimizer state | what the optimizer remembers | from the first update on |
# | activations | what forward keeps for backward | from forward until backward has used them |
# | buffers | what one operation needs for a moment | within the operation |
#
# A step also reads its input. On a GPU, CUDA itself takes memory before any tensor exists: the *context*. It belongs
# to no kind, and no formula here contains it. In mixed precision, lesson 05, the 16-bit copies of the weights are a
# kind of their own.

# %% [markdown]
# ## Predict: the peak of a step
#
# What counts is the **peak**: the most that is held at once. In this step it occurs at one of two moments.
#
# 1. **Backward begins.** Forward is done, and all activations are held.
# 2. **The optimizer updates a weight.** Backward is done.
#
# Go through `step` line by line. For each moment, decide for each kind whether it is held. Take the second call of
# `step`, or any later one: the first has no optimizer state while it runs forward.
#
# Which activations? Autograd keeps what it needs to compute gradients: **Linear and GELU each keep their input**. A
# tensor that two operations keep is one tensor. AdamW remembers two numbers for each parameter.

# %% [markdown]
# **Exercise.** Predict the peak from the kinds alone.
#
# *Contract.*
# - Return bytes; a number is float32, 4 bytes.
# - Parameters, gradients, optimizer state, activations and the input are enough: what one operation needs for a moment
#   stays below 2 % here.
# - `hidden` is at least four times `width`.
# - Compute it: the meter and the forecast do not answer inside your function.
#
# The check allows 2 %, on other chains and batches, with the operators of the CPU.


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
    state = 2 * parameters
    activations = blocks * batch * (width + 2 * hidden)  # the inputs of Linear, GELU, Linear
    gradients = parameters
    return 4 * (parameters + state + batch * width + max(activations, gradients))
    ### END SOLUTION


# %%
look(lambda: format_bytes(predict_step_peak(16, 256, 1024, 512)))

# %% check="check_step_peak" points=3
check_step_peak(predict_step_peak)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: make a table with two columns, one for each moment, and tick the kinds that are held.<br>
# Then: during backward the activations shrink and the gradients grow. All of both are never held together. Which of
# them is held at its start, and which at its end?
# </details>

# %% [markdown]
# **Run.** Now the meter. `measure_peak_memory` runs the step twice and watches every operator, every storage that it
# allocates, and the moment at which the storage is freed. It reports the second call.

# %%
peaks = {f"{batch} rows": measure_peak_memory(**make_step(16, 256, 1024, batch)) for batch in (512, 32)}
for (name, peak), batch in zip(peaks.items(), (512, 32), strict=True):
    predicted = look(predict_step_peak, 16, 256, 1024, batch)
    compared = f"predicted {format_bytes(predicted)}, ratio {predicted / peak.peak_bytes:.3f}" if predicted else ""
    print(f"{name:<9} measured {peak.peak_bytes:,} bytes, {format_bytes(peak.peak_bytes)}   {compared}")

# %%
from grader import draw_timelines

draw_timelines(peaks, title="One training step, 16 blocks")

# %% [markdown]
# **Investigate.** The picture is your own run, from left to right: every allocation and every free. *Other* is the
# input, and the buffers of single operations. The table names the operator that reached the
# peak: `aten.sum` adds up the gradient of the last bias, and `aten.div` is a step of AdamW's update.
#
# With 512 rows the activations grow through forward, and the peak comes where backward begins. The gradients of the
# step before are gone: `zero_grad()` freed them. Then each block of backward frees activations and adds gradients.
#
# With 32 rows the activations are a thin wedge. The gradients outgrow them, and the peak is in the update.

# %% [markdown]
# | kind, 512 rows | size | backward begins | the update |
# |---|---|---|---|
# | parameters | 32.1 MiB | yes | yes |
# | optimizer state | 64.2 MiB | yes | yes |
# | gradients | 32.1 MiB | not yet | yes |
# | activations | 72.0 MiB | yes | no longer |
#
# The rest of the 171.7 MiB, 3.4 MiB, is the input and the buffers: the loss, and the gradients of the last layer,
# which count as *other* until they are in `.grad`. In the update the buffers are two as large as a weight, and a
# leftover of the bias before. With them a formula meets the CPU's measurement to the byte.
#
# In words: *the peak is the model with its state, plus the larger of activations and gradients.*

# %% [markdown]
# **Names.** *Peak memory*; on CUDA `requested_bytes.all.peak` of `torch.cuda.memory_stats()`. Activations that autograd
# keeps are *saved tensors*. One *MiB* is `2**20` bytes. A *MB* is `10**6`, and many tools print MiB under that name.

# %% [markdown]
# **Modify.** Change `batch` in the next cell. Before you run it: does a batch of 128 rows lower the peak of 32 rows,
# raise it, or leave it? At which batch are both moments equally high? And does it stay there for another
# implementation of AdamW?


# %%
def make_update(job: dict, optimizer: torch.optim.Optimizer):
    """One update of a job's model, with another optimizer."""

    def update():
        optimizer.zero_grad()
        job["model"](job["inputs"]).square().mean().backward()
        optimizer.step()

    return update


batch = 128
moved = measure_peak_memory(**make_step(16, 256, 1024, batch))
print(f"{batch} rows: peak {format_bytes(moved.peak_bytes)}, gradients in it {format_bytes(moved.gradient_bytes)}")
for name, keywords in {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}.items():
    job = make_step(16, 256, 1024, 32)
    optimizer = torch.optim.AdamW(job["model"].parameters(), **keywords)
    held = measure_peak_memory(make_update(job, optimizer), model=job["model"], optimizer=optimizer)
    print(f"32 rows, AdamW {name:<8} peak {format_bytes(held.peak_bytes)}")

# %% [markdown]
# <details><summary>Answer</summary>
# It leaves it, except for a larger input: the peak is in the update, where no activation is left. With AdamW's loop the
# two moments meet between 228 and 229 rows. *Foreach*, the default on CUDA, updates all tensors at once and needs
# buffers as large as the model, so the two meet at a larger batch; *fused* needs none, so they meet at a smaller one.
# Below the meeting point, a smaller batch saves almost nothing.
# </details>

# %% [markdown]
# **Inference** needs no gradients, no state, and no activations for later: 4 bytes a parameter in fp32, 2 in bf16, 1
# in 8 bits, half a byte in 4 bits. Under `torch.no_grad()` an activation is freed as soon as the next layer has used
# it: at most two are held, before and after GELU.
#
# For some models inference memory grows with what they *do*. A language model keeps keys and values of every token that
# it has read, the *key-value cache*: 2 · layers · key-value heads · head width numbers for each token of each sequence.
# Beam search holds a cache for every beam. The next cell runs the chain on the same 512 rows.

# %%
job = make_step(16, 256, 1024, 512)


@torch.no_grad()
def run_inference():
    job["model"](job["inputs"])


print(measure_peak_memory(run_inference, model=job["model"], inputs=job["inputs"]))
cache_bytes = 2 * 32 * 32 * 128 * 2  # 32 layers, 32 heads of width 128, bf16: the shape of Llama 2 7B
print(f"key-value cache of a 7 B model: {format_bytes(cache_bytes)} a token, ", end="")
print(f"{format_bytes(cache_bytes * 4096)} for 4,096 tokens, {format_bytes(cache_bytes * 4096 * 5)} with 5 beams")

# %% [markdown]
# A training step does not fit. Which of **three cases** is it? Each needs another cure.
#
# | what does not fit | cure | lessons |
# |---|---|---|
# | the batch, though one row would | smaller micro-batches | 02 |
# | one single row | keep less of forward, or smaller numbers | 03, 05, 12 |
# | the parameters with gradients and state | smaller state or weights, several devices | 06 to 08, 17 to 20 |
#
# <details><summary>Explain in one sentence: your peak is in the update. What does a smaller batch save?</summary>
# Its input, and nothing else: no activation is held in the update.
# </details>

# %% [markdown]
# ## Derive: one transformer layer
#
# The same reasoning, for a layer that you will meet in every large model. Here is one with attention written out.
# What does autograd keep of it? These rules are enough:
#
# - Linear, LayerNorm and GELU keep their input. (LayerNorm also keeps two numbers for each token: leave them out.)
# - A matrix product of two activations, `@`, keeps **both** factors: the gradient of each needs the other.
# - Softmax keeps its **output**.
# - A sum, a product with a plain number, and a new view or order of a tensor keep nothing.
# - A tensor that several operations keep is held once.

# %% tags=["given"]
from torch import nn

from grader import check_layer_activations, measure_saved_tensors


class Layer(nn.Module):
    """A transformer layer: attention, then a feed-forward network; each normalises its input and adds to it."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.grow, self.gelu, self.shrink = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, states):
        """Update states [batch, time, width]."""
        normed = self.first_norm(states)
        parts = (project(normed).unflatten(-1, (self.heads, -1)) for project in (self.query, self.key, self.value))
        query, key, value = (part.transpose(1, 2) for part in parts)  # [batch, heads, time, head_width]
        weights = (query @ key.mT * self.scale).softmax(-1)  # [batch, heads, time, time]
        states = states + self.output((weights @ value).transpose(1, 2).flatten(2))
        return states + self.shrink(self.gelu(self.grow(self.second_norm(states))))


# %% [markdown]
# **Exercise.** Derive the bytes of the layer's activations.
#
# *Contract.*
# - Return the bytes that autograd keeps from one forward until backward; a number is float32, 4 bytes.
# - The input of the layer counts, because the first norm keeps it. Parameters do not count.
# - Compute it: the meters do not answer inside your function.
#
# The check allows 2 %, on other sizes.


# %% exercise="layer_activations"
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    """Bytes of the activations that one transformer layer keeps for backward.

    Args:
        batch: Sequences.
        time: Tokens of each sequence.
        width: Features of a token.
        heads: Attention heads; each has width / heads features.

    Returns:
        Bytes; every number is float32.
    """
    ### BEGIN SOLUTION
    states = batch * time * width
    attention = states + states + 3 * states + states  # inputs of norm and projections; query, key, value; of output
    feed_forward = states + states + 2 * 4 * states  # inputs of norm, grow, gelu, shrink
    weights = batch * heads * time * time
    return 4 * (attention + feed_forward + weights)
    ### END SOLUTION


# %%
inputs = torch.randn(4, 128, 256, device=device)  # [batch, time, width]
kept = measure_saved_tensors(lambda: Layer(256, 8).to(device)(inputs))
derived = look(layer_activations, 4, 128, 256, 8)
if derived:
    print(f"derived {format_bytes(derived)}, measured {format_bytes(kept.total_bytes)}", end=", ")
    print(f"ratio {derived / kept.total_bytes:.3f}")
print(kept)

# %% check="check_layer_activations" points=2
check_layer_activations(layer_activations)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write every line of `forward` on paper, and next to it what its operations keep, with its shape.<br>
# Then: cross out what is on the list twice. Three projections read one tensor, and so do softmax and the product after
# it. Which tensors depend on the square of the time?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: you double the time. Which activations double, and which do more?</summary>
# All of shape [batch, time, ...] double, and the attention weights take four times as much: lesson 12 removes them.
# </details>

# %% [markdown]
# ## Complete: BERT-large from two small ones
#
# BERT-large has 24 layers and 335 million parameters. `forecast_peak_memory` measures a step on tensors that have a
# shape and no data, so the model need not fit, and nothing is computed. With the operators of the CPU, a forecast
# equals the measurement to the byte.
#
# A worked example: the chain with 16 blocks, from chains with 4 and 8. All blocks are alike, so each block adds the
# same bytes, and the rest is held once.

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
# *Contract.*
# - All layers are alike, and the peak occurs at the same moment in all sizes.
# - `forecast_layers(n)` returns the peak in bytes for `n` layers. It answers for `few` and for `more` only, which need
#   not be 2 and 4. Call it for both.
# - Return the bytes for `layers`, which may be fewer than `few`.
#
# The check asks about BERT-large and about other models.


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
# First: how many layers are between the two small models, and what do they cost together?<br>
# Then: take the small model apart. Which of its bytes belong to its layers, and which would it hold with no layer?
# </details>

# %% [markdown]
# Is it true? The next cell forecasts all 24 layers. It takes 2 to 10 seconds.

# %%
large = forecast_peak_memory(bert_large_recipe("vanilla"), operators="cpu")
print(f"24 layers, forecast whole: {large.peak_bytes:,} bytes")
print(large)

# %% [markdown]
# The two agree to the byte. The 4.0 MiB of gradients are those of the last layer: backward has begun.
#
# <details><summary>Explain in one sentence: why is 24 / 2 times the peak of two layers too much?</summary>
# Embeddings, classifier, input and buffers are held once, however many layers follow: they would be counted 12 times.
# </details>
#
# **Modify.** In the cell that prints BERT-large, ask for 48 layers. Before you run it: is the result more or less than
# twice the bytes of 24 layers?
#
# <details><summary>Answer</summary>
# A little less: the layers double, and the fixed part is held once.
# </details>

# %% [markdown]
# ## Write: the name that keeps memory alive
#
# Memory is freed when nothing holds it any more. In a notebook every global name holds its object for as long as the
# kernel runs, so "I deleted the model, and memory did not fall" is a frequent question.
#
# The next step evaluates a model and keeps each loss in a list. A loss holds its graph, and a graph holds the
# activations. The meter refuses to measure such a step, because it holds more after every call.

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
# The second trap needs no graph. A tensor is a *view*: a shape, and a place in a **storage**. Only the storage takes
# memory. A slice of a tensor is another view of the same storage.

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
# `untyped_storage()` returns the storage of a tensor. Its `data_ptr()` is its address, which no other storage has at
# the same time, and its `nbytes()` is its size. A tensor has a `data_ptr()` too: there its own view begins.

# %% tags=["given"]
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
# **Exercise.** Diagnose: which name keeps memory alive? Write the tool that reports, for each name, what `del` frees.
#
# *Contract.*
# - `namespace` maps names to objects of any type. A storage is freed when the **last** name that holds it is deleted.
# - Return, for **every** name taken alone, how many bytes its deletion frees.
# - `tensors_of` lists the tensors behind an object, gradients included; a number or a string has none.
# - Leave the namespace as it is.
#
# The check has namespaces of training scripts: views, shared and tied tensors, optimizers, old models.


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
# `best` holds an old model, and one row keeps 16 MiB. Deleting `model` frees nothing, because the optimizer holds the
# same parameters: you have to delete **both**.
#
# This tool does not see graphs, nor names inside functions that have not returned. In a notebook, `Out` keeps every
# result that a cell displayed, and the last error keeps all variables of the function that raised it.
#
# <details><summary>Explain in one sentence: why does del model often free nothing?</summary>
# The optimizer, another name, or the notebook's own history still holds its parameters.
# </details>

# %% [markdown]
# ## The price
#
# Measuring costs time: on a CPU the meter looks at every operator. Before you run the cell: by which factor are two
# measured steps slower than two plain ones?

# %%
from grader import measure_step_time

job = make_step(8, 256, 1024, 128)
plain_step = job["step"]


def two_measured_steps():
    measure_peak_memory(**job)


def two_plain_steps():
    plain_step()
    plain_step()


print(measure_step_time(two_plain_steps, two_measured_steps, run_count=2, warm_up_count=0))

# %% [markdown]
# Both steps of a measurement are watched. The meter takes a fixed time for each operator, so small operators slow down
# most. A forecast takes no memory, and a few seconds for BERT-large, but it does not say how fast the step will be.
#
# | | needs the device | needs the memory | exact |
# |---|---|---|---|
# | formula | no | no | within 2 %, from the kinds |
# | forecast | no | no | to the byte, on a CPU |
# | measurement | yes | yes | to the byte |

# %% [markdown]
# - *Use a formula when* you choose a model or a batch. *Use a forecast when* the job does not fit your machine.
# - *Do not rely on either when* the device is nearly full: the allocator's reserve and the context come on top.
# - *Combine with* a measurement of two small models, or of one step on the real device.

# %% [markdown] tags=["further"]
# ## Further: build the meter
#
# PyTorch calls every operator through a dispatcher, and a *dispatch mode* can intercept the call. `Watch` below does
# so: after each operator it reports the tensors that went in and those that came out.

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
# `add_` returns the tensor that went in: nothing is allocated. When is a storage freed?
# `weakref.finalize(storage, function, *arguments)` calls the function at that moment.

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
# *Contract.*
# - Call `step` once. A storage counts once, with all its bytes, from the operator that allocates it until it is freed.
# - What existed before the call does not count, and may be freed during it. A storage that goes into an operator
#   existed before that operator.
# - An operator may return no tensor, or several.
# - The key of a storage is `storage._cdata`: no two storages share one at the same time, but it may be used again
#   after a storage is freed.
#
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
    held, peak = {}, 0  # bytes of every storage that is not freed yet, by key

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
# Then: a key may be used again after its storage is freed. Who removes it from what you keep?
# </details>

# %% [markdown]
# ## Further: an out-of-memory message
#
# On a GPU three numbers are called "memory used".
#
# | number | counts | read by |
# |---|---|---|
# | allocated | bytes in tensors | `torch.cuda.memory_allocated()` |
# | reserved | what PyTorch's allocator took from the device, and keeps | `torch.cuda.memory_reserved()` |
# | occupied | all that every process has on the device, contexts included | `nvidia-smi`, NVML |
#
# NVML also reports *utilisation*: the share of time in which some kernel ran. It says nothing about memory, and little
# about how busy the device is. From Python:
#
# ```python
# import pynvml  # pip install nvidia-ml-py
# pynvml.nvmlInit()
# occupied = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used  # bytes
# ```

# %% [markdown]
# Freed tensors leave *allocated* and stay in *reserved*: the allocator keeps them as a *cache*, in blocks that it cuts
# into pieces. `torch.cuda.empty_cache()` returns to the device only blocks in which **no** piece is in use. One small
# tensor keeps its whole block.
#
# Before PyTorch reports an error, it has returned all such blocks itself. So what the message calls *reserved but
# unallocated* is scattered in pieces between tensors that are still held: **fragmentation**, for which `empty_cache()`
# does not help.

# %% [markdown]
# - `PYTORCH_ALLOC_CONF=expandable_segments:True`, set before the program starts, lets the allocator serve one
#   request from free pages of several places.
# - `torch.cuda.memory._record_memory_history()`, and later `torch.cuda.memory._dump_snapshot("file.pickle")`, write a
#   *memory snapshot*: every piece, with the line of Python that allocated it. Open it at pytorch.org/memory_viz.

# %%
from grader import BERT_LARGE_ROWS, device_facts

print(device_facts())
message = """CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB of which 1.12 GiB
is free. Including non-PyTorch memory, this process has 14.64 GiB memory in use. Of the allocated memory 11.90 GiB is
allocated by PyTorch, and 2.30 GiB is reserved by PyTorch but unallocated."""
print(message)

# %% [markdown]
# Here 15.77 - 1.12 - 14.64 leaves 0.01 GiB for others, and 14.64 - 11.90 - 2.30 = 0.44 GiB is this process's context.
# 2 GiB were asked for; 1.12 + 2.30 GiB would have been enough in one piece.
#
# **Exercise.** Diagnose such messages: what has to change?
#
# *Contract.* Return the **first** that is true:
# - `"fragmentation"`: the request would fit if all free and all unallocated memory were in one piece;
# - `"other processes"`: it would fit if, in addition, the other processes had ended;
# - `"too large"`: neither would be enough.
#
# All arguments are bytes. The check asks about other messages.

# %% tags=["given"]
from grader import check_out_of_memory


# %% exercise="find_cause"
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    """Find out why a request for GPU memory failed.

    Args:
        asked: "Tried to allocate".
        total: "has a total capacity of".
        free: "of which ... is free": by any process.
        own: "this process has ... memory in use": its context, its tensors and its unallocated memory.
        allocated: "allocated by PyTorch".
        unallocated: "reserved by PyTorch but unallocated".

    Returns:
        "fragmentation", "other processes" or "too large".
    """
    ### BEGIN SOLUTION
    in_pieces = free + unallocated
    if asked <= in_pieces:
        return "fragmentation"
    others = total - free - own
    return "other processes" if asked <= in_pieces + others else "too large"
    ### END SOLUTION


# %%
look(find_cause, *(int(gib * 2**30) for gib in (2.00, 15.77, 1.12, 14.64, 11.90, 2.30)))

# %% check="check_out_of_memory" points=1
check_out_of_memory(find_cause)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: draw one bar for the device, and mark free, unallocated, allocated, context and others on it.<br>
# Then: which pieces of the bar does each of the two answers add to what is free?
# </details>

# %% [markdown]
# ## Further: what a forecast leaves out
#
# A guide to training on one GPU published what `nvidia-smi` showed for BERT-large: 4 rows of 512 tokens, AdamW, a
# V100, in January 2022. At that time `zero_grad()` filled the gradients with zeros and **kept** them; since PyTorch 2.0
# it frees them. Before you run the cell: by how much does the peak rise if gradients are kept? Which of the two
# forecasts is nearer to the published figure?
#
# Both use the operators that CUDA would choose. These are *emulated*: rules taken from PyTorch's source.


# %%
def keep_gradients() -> dict:
    """BERT-large by the vanilla recipe; gradients are filled with zeros and kept."""
    job = bert_large_recipe("vanilla")()
    clear = job["optimizer"].zero_grad
    job["optimizer"].zero_grad = lambda: clear(set_to_none=False)
    return job


freed_mib = forecast_peak_memory(bert_large_recipe("vanilla")).peak_bytes / MIB
kept_mib = forecast_peak_memory(keep_gradients).peak_bytes / MIB
row = BERT_LARGE_ROWS["vanilla"]
print(f"forecast, operators of the CPU             {large.peak_bytes / MIB:>7,.0f} MiB")
print(f"forecast, CUDA emulated, gradients freed   {freed_mib:>7,.0f} MiB")
print(f"forecast, CUDA emulated, gradients kept    {kept_mib:>7,.0f} MiB")
print(f"published, occupied                        {row.occupied_mib:>7,} MiB")
print(f"published, less the context                {row.less_context_mib:>7,} MiB")
print(f"not forecast, if gradients are freed       {row.less_context_mib - freed_mib:>7,.0f} MiB")
print(f"not forecast, if gradients are kept        {row.less_context_mib - kept_mib:>7,.0f} MiB")

# %% [markdown]
# Kept gradients explain about 1,275 MiB of the gap: they are held when backward begins, next to all activations. (Not
# all 1,278 MiB of them are extra: those of the last layer are held there in any case.) The rest is not explained by
# this forecast. `nvidia-smi` shows what the allocator reserved at its fullest, fragments and workspaces included, and
# in the other rows of the table the rest grows with the activations.
#
# A forecast below the device's memory is therefore a good sign, but no promise. Leave room for the context and for a
# reserve.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>At which two moments can the peak of a step occur?</summary>
# Where backward begins, with all activations and the first gradients; or in the update, with all gradients and no
# activation.
# </details>
# <details><summary>When is a forecast from two small models right?</summary>
# If the layers are alike, and the peak occurs at the same moment in all sizes.
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
# - [PyTorch, CUDA memory management][cuda]: allocated, reserved, `empty_cache`, `expandable_segments`.
# - [PyTorch, memory snapshots][snapshot]: recording and reading them. [NVML][nvml]: occupied memory, and utilisation.
# - [Korthikanti et al., Reducing activation recomputation][korthikanti]: the activations of a layer, in 16 bits.
# - [PyTorch, tensor views][views]: which operations share a storage.
# - [PyTorch, fake tensors][fake]: tensors with a shape and no data.
#
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
# [snapshot]: https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
# [nvml]: https://docs.nvidia.com/deploy/nvml-api/
# [korthikanti]: https://arxiv.org/abs/2205.05198
# [cuda]: https://docs.pytorch.org/docs/stable/notes/cuda.html
# [views]: https://docs.pytorch.org/docs/stable/tensor_view.html
# [fake]: https://docs.pytorch.org/docs/stable/torch.compiler_fake_tensor.html
