# %% [markdown]
# # 1. Where memory goes
#
# You measure one training step byte by byte, predict its peak, and forecast a model that your machine could not train.
#
# 60 min (estimated) · CPU is enough · after lesson 00

# %% [markdown] objectives="1; 2 3; 4"
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
# <details><summary>What is in .grad after two backward passes without zero_grad() in between?</summary>
# The sum of both gradients.
# </details>
# <details><summary>Which form of training clips gradients without being asked to?</summary>
# The Trainer: `max_grad_norm` is 1.0 unless you set it.
# </details>

# %% [markdown]
# **The problem.** The model is a chain of 16 blocks: Linear(256, 1024), GELU, Linear(1024, 256). Its parameters take
# 32.1 MiB. You train it with AdamW on 512 rows of 256 numbers, which take half a MiB.
#
# On a CPU, one training step holds 171.7 MiB at its peak, more than five times the size of the model. What is the
# rest, when is it held, and how much of it would a smaller batch save?


# %% tags=["given"]
def make_step(blocks: int, width: int, hidden: int, batch: int, place=device) -> dict:
    """Build one AdamW update of a chain, as the arguments of measure_peak_memory."""
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
# | gradients | one number for each parameter | from the backward pass until `zero_grad()` |
# | optimizer state | what the optimizer remembers | from the first update on |
# | activations | what the forward pass keeps for the backward pass | until the backward pass has used them |
# | buffers | what a single operation needs temporarily | during the operation |
#
# A step also reads its input. On a GPU, CUDA itself takes memory before any tensor exists: the *context*. It belongs
# to none of these kinds, and no formula here includes it. In mixed precision (lesson 05), the 16-bit copies of the
# weights are a kind of their own.

# %% [markdown]
# ## Predict: the peak of a step
#
# What counts is the **peak**: the most that is held at any one time. In this step it occurs at one of two moments.
#
# 1. **The backward pass begins.** The forward pass is done, and all activations are held.
# 2. **The optimizer updates a weight.** The backward pass is done.
#
# Go through `step` line by line, and decide for each moment which kinds are held. Take the second call of `step` or a
# later one: the first runs forward without optimizer state.
#
# Autograd keeps the activations that it needs to compute gradients: **Linear and GELU each keep their input**. A
# tensor that two operations keep is one tensor. AdamW remembers two numbers per parameter.

# %% [markdown]
# **Exercise.** Predict the peak from the kinds alone.
#
# *Contract.*
# - Return the peak in bytes; every number is float32, 4 bytes.
# - Count parameters, gradients, optimizer state, activations and the input. Leave out what a single operation needs
#   temporarily: it stays below 2 % here.
# - `hidden` is at least four times `width`.
# - Compute the result: using the meter or the forecast inside your function fails the check.
#
# The check allows 2 %, on other chains and batches, with the operators of the CPU.


# %% exercise="predict_step_peak"
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    """Predict the bytes held at the peak of one AdamW update of a chain, from the second update on.

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
# Then: during the backward pass the activations shrink and the gradients grow, so the two are never held in full at
# the same time. Which of them is complete at its start, and which at its end?
# </details>

# %% [markdown]
# **Run.** Now measure it. `measure_peak_memory` runs the step twice. It watches every operator, and the moments at
# which each storage is allocated and freed, and it reports the second call.

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
# **Investigate.** The figure shows your own run from left to right: every allocation and every free. *Other* is the
# input and the buffers of single operations. The table names the operator that reached the peak: `aten.sum` adds up
# the gradient of the last bias, and `aten.div` is a part of AdamW's update.
#
# With 512 rows the activations grow during the forward pass, and the peak comes as the backward pass begins. The
# gradients of the previous step are gone by then, because `zero_grad()` freed them. Then each block of the backward
# pass frees activations and adds gradients.
#
# With 32 rows the activations are a thin wedge. The gradients outgrow them, and the peak is in the update.

# %% [markdown]
# | kind, 512 rows | size | backward pass begins | the update |
# |---|---|---|---|
# | parameters | 32.1 MiB | yes | yes |
# | optimizer state | 64.2 MiB | yes | yes |
# | gradients | 32.1 MiB | not yet | yes |
# | activations | 72.0 MiB | yes | no longer |
#
# The remaining 3.4 MiB of the 171.7 MiB are the input and the buffers: the loss, and the gradients of the last layer,
# which count as *other* until they are in `.grad`. In the update, two buffers as large as a weight are held, and one
# left over from the previous bias. If you include these buffers, a formula matches the CPU's measurement to the byte.
#
# In words: *the peak is the model with its optimizer state, plus the larger of activations and gradients.*

# %% [markdown]
# **Names.** *Peak memory* is, on CUDA, `requested_bytes.all.peak` of `torch.cuda.memory_stats()`. Activations that
# autograd keeps are called *saved tensors*. One *MiB* is `2**20` bytes. One *MB* is `10**6` bytes, but many tools
# print MiB under that name.

# %% [markdown]
# **Modify.** Change `batch` in the next cell. Before you run it: compared with 32 rows, does a batch of 128 rows lower
# the peak, raise it, or leave it unchanged? At which batch size are both moments equally high? And is that batch size
# the same for other implementations of AdamW?


# %%
def make_update(job: dict, optimizer: torch.optim.Optimizer):
    """Build one update of a job's model, with another optimizer."""

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
# It leaves the peak unchanged, except for the larger input: the peak is in the update, when no activation is held any
# more. With AdamW's loop the two moments are equally high between 228 and 229 rows. *Foreach*, the default on CUDA,
# updates all tensors at once and needs buffers as large as the model, so the two meet at a larger batch. *Fused* needs
# no buffers, so they meet at a smaller one. Below that batch size, a smaller batch saves almost nothing.
# </details>

# %% [markdown]
# **Inference** needs no gradients, no optimizer state, and no saved activations. What remains is 4 bytes per parameter
# in fp32, 2 in bf16, 1 in 8 bits, half a byte in 4 bits. Under `torch.no_grad()` an activation is freed as soon as the
# next layer has used it, so at most two are held: the input and output of GELU.
#
# For some models the memory of inference grows with the text. A language model keeps the keys and values of every
# token that it has read, the *key-value cache*: 2 · layers · key-value heads · head width numbers for each token of
# each sequence. Beam search holds one cache per beam. The next cell runs the chain on the same 512 rows.

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
# If a training step does not fit, which of **three cases** is it? Each needs a different cure.
#
# | what does not fit | cure | lessons |
# |---|---|---|
# | the batch, although one row would | smaller micro-batches | 02 |
# | a single row | save fewer activations, or use fewer bytes per number | 03, 05, 12 |
# | the parameters with gradients and state | smaller state or weights, several devices | 06 to 08, 17 to 20 |
#
# <details><summary>Explain in one sentence: your peak is in the update. What does a smaller batch save?</summary>
# Only its input, because no activation is held during the update.
# </details>

# %% [markdown]
# ## Derive: one transformer layer
#
# Now apply the same reasoning to a layer that you will meet in every large model, here with attention written out.
# What does autograd keep of it? These rules are enough:
#
# - Linear, LayerNorm and GELU keep their input. (LayerNorm also keeps two numbers for each token: leave them out.)
# - A matrix product of two activations, `@`, keeps **both** factors, because the gradient of each needs the other.
# - Softmax keeps its **output**.
# - A sum, a product with a plain number, and a new view or order of a tensor keep nothing.
# - A tensor that several operations keep is held only once.

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
# - Return the bytes that autograd keeps from one forward pass for the backward pass; every number is float32, 4 bytes.
# - The input of the layer counts, because the first norm keeps it. Parameters do not count.
# - Compute the result: using a meter inside your function fails the check.
#
# The check allows 2 %, on other sizes.


# %% exercise="layer_activations"
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    """Derive the bytes of the activations that one transformer layer keeps for the backward pass.

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
# First: write every line of `forward` on paper, and next to it what its operations keep, with the shape.<br>
# Then: cross out what you have listed twice. Three projections keep the same tensor, and so do softmax and the product
# after it. Which tensors depend on the square of the time?
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: if the time doubles, which activations double? Which grow more?</summary>
# All activations of shape [batch, time, ...] double, and the attention weights take four times as much: lesson 12
# removes them.
# </details>

# %% [markdown]
# ## Complete: BERT-large from two small ones
#
# BERT-large has 24 layers and 335 million parameters. `forecast_peak_memory` measures a step on tensors that have a
# shape but no data, so nothing is computed, and the model does not have to fit. With the operators of the CPU, a
# forecast equals the measurement to the byte.
#
# As a worked example, the next cell derives the chain with 16 blocks from chains with 4 and 8 blocks. All blocks are
# alike, so each block adds the same number of bytes, and the rest is held once.

# %% tags=["given"]
from grader import bert_large_recipe, check_extrapolated_peak, forecast_peak_memory


def forecast_chain(blocks: int) -> int:
    """Forecast the peak in bytes of one AdamW update of a chain on 512 rows, with the operators of the CPU."""
    return forecast_peak_memory(lambda: make_step(blocks, 256, 1024, 512, "cpu"), operators="cpu").peak_bytes


def forecast_bert(layers: int) -> int:
    """Forecast the peak in bytes of one AdamW update of BERT-large with this many layers, on 4 rows of 512 tokens."""
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
# - All layers are alike, and the peak occurs at the same moment for every number of layers.
# - `forecast_layers(n)` returns the peak in bytes for `n` layers. It answers only for `few` and for `more`, which need
#   not be 2 and 4. Call it for both.
# - Return the bytes for `layers`, which may be fewer than `few`.
#
# The check asks about BERT-large and about other models.


# %% exercise="extrapolate_peak"
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    """Extrapolate the peak of a model with many layers from two models with few.

    Args:
        forecast_layers: Function of a number of layers; returns the peak in bytes. Answers only for `few` and `more`.
        few: Layers of the smaller of the two small models.
        more: Layers of the larger of the two small models.
        layers: Layers of the model whose peak is wanted.

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
# First: how many layers more does the larger of the two small models have, and how many bytes do these layers add
# together?<br>
# Then: take the smaller model apart. Which of its bytes belong to its layers, and which would it hold without any
# layer?
# </details>

# %% [markdown]
# Is the extrapolation right? The next cell forecasts all 24 layers, which takes 2 to 10 seconds.

# %%
large = forecast_peak_memory(bert_large_recipe("vanilla"), operators="cpu")
print(f"24 layers, forecast whole: {large.peak_bytes:,} bytes")
print(large)

# %% [markdown]
# The two numbers agree to the byte. The 4.0 MiB of gradients are those of the last layer: at the peak, the backward
# pass has already begun.
#
# <details><summary>Explain in one sentence: why is 24 / 2 times the peak of two layers too much?</summary>
# Embeddings, classifier, input and buffers are held once, whatever the number of layers, but would be counted 12
# times.
# </details>
#
# **Modify.** In the cell that prints BERT-large, ask for 48 layers. Before you run it: is the result more or less than
# twice the bytes of 24 layers?
#
# <details><summary>Answer</summary>
# A little less: the bytes of the layers double, but the fixed part is held only once.
# </details>

# %% [markdown]
# ## Write: the name that keeps memory alive
#
# Memory is freed when nothing refers to it any more. In a notebook every global name keeps its object alive for as
# long as the kernel runs, so "I deleted the model, but memory did not fall" is a frequent question.
#
# The next step evaluates a model and keeps each loss in a list. A loss holds its graph, and the graph holds the
# activations. The meter refuses to measure such a step, because it holds more memory after every call.

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
# The cure is to keep `.item()` of each loss, or to put the step under `torch.no_grad()`.
#
# The second trap does not even need a graph. A tensor is a *view*: it has a shape and a position in a **storage**.
# Only the storage takes memory. A slice of a tensor is another view of the same storage.

# %%
logits = torch.zeros(4096, 1024)  # [rows, classes]
first_row = logits[:1]
print(f"first_row: {format_bytes(first_row.nbytes)} of numbers, in a storage of", end=" ")
print(format_bytes(first_row.untyped_storage().nbytes()))
print(f"the same storage: {first_row.untyped_storage().data_ptr() == logits.untyped_storage().data_ptr()}")
del logits
print(f"after `del logits`, first_row still holds {format_bytes(first_row.untyped_storage().nbytes())}")

# %% [markdown]
# So `del logits` freed nothing: `first_row` keeps all 16 MiB alive. While both names existed, deleting either one
# would have freed nothing. `first_row.clone()` would have had a storage of its own.
#
# `untyped_storage()` returns the storage of a tensor. The storage's `data_ptr()` is its address, which no other
# storage has at the same time, and its `nbytes()` is its size. A tensor also has a `data_ptr()`, but that is the
# address where its own view begins.

# %% tags=["given"]
from grader import check_freed_bytes


def tensors_of(value) -> list:
    """List all tensors that a tensor, a module, an optimizer, or a list, tuple or dict of these holds."""
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
# **Exercise.** Diagnose which name keeps memory alive. Write the tool that reports, for each name, what `del` frees.
#
# *Contract.*
# - `namespace` maps names to objects of any type. A storage is freed when the **last** name that holds it is deleted.
# - For **every** name, return how many bytes are freed if that name alone is deleted.
# - `tensors_of` lists the tensors behind an object, gradients included; a number or a string has none.
# - Do not change the namespace.
#
# The check uses namespaces as in training scripts: views, shared and tied tensors, optimizers, old models.


# %% exercise="freed_bytes"
def freed_bytes(namespace: dict) -> dict[str, int]:
    """Compute the bytes that each name alone keeps alive: what `del name` would free.

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
# First: reverse the question. For each storage, which names hold it?<br>
# Then: a storage counts for a name only if no other name holds it. What identifies a storage, and what does not: the
# tensor, its shape, its first element?
# </details>

# %% [markdown]
# `best` holds an old model, and `first_row` keeps 16 MiB alive for one row. Deleting `model` frees nothing, because
# the optimizer holds the same parameters: you have to delete **both**.
#
# This tool sees neither graphs nor names inside functions that have not returned yet. In a notebook, in addition,
# `Out` keeps every result that a cell displayed, and the last error keeps all variables of the function that raised
# it.
#
# <details><summary>Explain in one sentence: why does del model often free nothing?</summary>
# The optimizer, another name, or the notebook's own history still holds its parameters.
# </details>

# %% [markdown]
# ## The price
#
# Measuring costs time, because on a CPU the meter looks at every operator. Before you run the cell: by which factor
# are two measured steps slower than two plain ones?

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
# Both steps of a measurement are watched. The meter needs a fixed time for each operator, so small operators slow down
# the most. A forecast takes no memory, and a few seconds for BERT-large, but it does not show how fast the step will
# be.
#
# | | needs the device | needs the memory | exact |
# |---|---|---|---|
# | formula | no | no | within 2 %, from the kinds |
# | forecast | no | no | to the byte, on a CPU |
# | measurement | yes | yes | to the byte |

# %% [markdown]
# - *Use a formula when* you choose a model or a batch. *Use a forecast when* the job does not fit your machine.
# - *Do not rely on either when* the device is nearly full: the allocator's reserve and the context come in addition.
# - *Combine with* a measurement of two small models, or of one step on the real device.

# %% [markdown] tags=["further"]
# ## Further: build the meter
#
# PyTorch calls every operator through a dispatcher, and a *dispatch mode* can intercept the call. `Watch` below is
# such a mode: after each operator it reports the tensors that went in and those that came out.

# %% tags=["given"]
import weakref

from torch.utils._python_dispatch import TorchDispatchMode

from grader import check_own_meter


class Watch(TorchDispatchMode):
    """Report every operator: call report(tensors that went in, tensors that came out)."""

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
# `add_` returns the tensor that went in, so it allocates nothing. But how do you notice that a storage is freed?
# `weakref.finalize(storage, function, *arguments)` calls the function at that moment.

# %%
noted = torch.zeros(1000)
weakref.finalize(noted.untyped_storage(), print, "freed:", noted.untyped_storage().nbytes(), "bytes")
view = noted[:10]
del noted
print("deleted the name; a view is still there")
del view

# %% [markdown]
# **Exercise.** Write the meter: return the most bytes that a step allocates and holds at once.
#
# *Contract.*
# - Call `step` once. A storage counts once, with all its bytes, from the operator that allocates it until it is freed.
# - Storages that existed before the call do not count, and may be freed during it. A storage that goes into an
#   operator existed before that operator.
# - An operator may return no tensor, or several.
# - The key of a storage is `storage._cdata`: no two storages share one at the same time, but it may be used again
#   after a storage is freed.
#
# Write it by hand: without the meters of `grader`.


# %% exercise="peak_above_entry"
def peak_above_entry(step) -> int:
    """Measure by hand the most bytes that one call of `step` allocates and holds at once.

    Args:
        step: Function of no arguments.

    Returns:
        Bytes; each storage counts once, and storages that existed before the call do not count.
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
# First: two records are enough: what is held now, storage by storage, and the most that was held so far.<br>
# Then: a key may be used again after its storage is freed. Who removes it from your record?
# </details>

# %% [markdown]
# ## Further: an out-of-memory message
#
# On a GPU, three different numbers are called "memory used".
#
# | number | counts | read by |
# |---|---|---|
# | allocated | bytes in tensors | `torch.cuda.memory_allocated()` |
# | reserved | what PyTorch's allocator took from the device, and keeps | `torch.cuda.memory_reserved()` |
# | occupied | what all processes hold on the device, contexts included | `nvidia-smi`, NVML |
#
# NVML also reports *utilisation*: the share of time in which some kernel ran. It shows nothing about memory, and
# little about how busy the device is. You can read both from Python:
#
# ```python
# import pynvml  # pip install nvidia-ml-py
# pynvml.nvmlInit()
# occupied = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used  # bytes
# ```

# %% [markdown]
# Freed tensors no longer count as *allocated* but still count as *reserved*: the allocator keeps their memory as a
# *cache*, in blocks that it cuts into pieces. `torch.cuda.empty_cache()` returns only blocks in which **no** piece is
# in use to the device. One small tensor keeps its whole block.
#
# Before PyTorch raises an out-of-memory error, it has already returned all such blocks itself. What the message calls
# *reserved but unallocated* is therefore scattered in pieces between tensors that are still held. This is
# **fragmentation**, and `empty_cache()` does not help against it.

# %% [markdown]
# - `PYTORCH_ALLOC_CONF=expandable_segments:True`, set before the program starts, lets the allocator serve one request
#   from free pages in several places.
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
# Here 15.77 - 1.12 - 14.64 leaves 0.01 GiB for other processes, and 14.64 - 11.90 - 2.30 = 0.44 GiB is this process's
# context. The request was for 2 GiB; the 1.12 + 2.30 GiB would have been enough in one piece.
#
# **Exercise.** Diagnose such messages: what has to change?
#
# *Contract.* Return the **first** of these answers that is true:
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
        free: "of which ... is free": available to any process.
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
# Then: which pieces of the bar does each of the first two answers add to what is free?
# </details>

# %% [markdown]
# ## Further: what a forecast leaves out
#
# A guide to training on one GPU published what `nvidia-smi` showed for BERT-large, with 4 rows of 512 tokens and
# AdamW, on a V100 in January 2022. At that time `zero_grad()` filled the gradients with zeros and **kept** them; since
# PyTorch 2.0 it frees them. Before you run the cell: by how much does the peak rise if gradients are kept? Which of
# the two forecasts is closer to the published figure?
#
# Both forecasts use the operators that CUDA would choose. These are *emulated*, by rules taken from PyTorch's source.


# %%
def keep_gradients() -> dict:
    """Build BERT-large by the vanilla recipe, with gradients that are filled with zeros and kept."""
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
# Kept gradients explain about 1,275 MiB of the gap, because they are still held, next to all activations, when the
# backward pass begins. (Not all 1,278 MiB of them are extra: those of the last layer are held at that moment in any
# case.) This forecast does not explain the rest. `nvidia-smi` shows the most that the allocator ever reserved,
# fragments and workspaces included, and in the other rows of the table the rest grows with the activations.
#
# A forecast below the device's memory is therefore a good sign, but no promise. Leave room for the context and for a
# reserve.

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>At which two moments can the peak of a step occur?</summary>
# When the backward pass begins, with all activations and the first gradients; or in the update, with all gradients and
# no activation.
# </details>
# <details><summary>When is a forecast from two small models right?</summary>
# If the layers are alike, and the peak occurs at the same moment for every number of layers.
# </details>
# <details><summary>When is a tensor's memory freed?</summary>
# When the last name, list or graph that holds its storage releases it. A view holds it, too.
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
# - [PyTorch, fake tensors][fake]: tensors with a shape but no data.
#
# [guide]: https://huggingface.co/docs/transformers/v4.30.0/en/perf_train_gpu_one
# [snapshot]: https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
# [nvml]: https://docs.nvidia.com/deploy/nvml-api/
# [korthikanti]: https://arxiv.org/abs/2205.05198
# [cuda]: https://docs.pytorch.org/docs/stable/notes/cuda.html
# [views]: https://docs.pytorch.org/docs/stable/tensor_view.html
# [fake]: https://docs.pytorch.org/docs/stable/torch.compiler_fake_tensor.html
