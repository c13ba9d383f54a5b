# %% [markdown]
# # 21. Quantization and LoRA
#
# You fine-tune a model whose weights take four bits each, by training a small share of its numbers.
#
# 70 min (estimated) · CPU is enough · after lesson 08

# %% [markdown] objectives="1; 2; 3; 4 5"
# **You will be able to**
# - predict the bits of a quantized weight, and what LoRA trains and holds;
# - quantize weights to NF4, two codes per byte;
# - write an adapter that changes nothing at first, leaves the base alone and merges into it;
# - run QLoRA with Accelerate and with the Trainer, within the memory that it promises.

# %% tags=["given"]
import logging
import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no cell downloads anything
for name in ("bitsandbytes", "torchao", "torch.utils._pytree"):
    logging.getLogger(name).setLevel(
        logging.ERROR
    )  # they report kernels that this machine cannot load, or does not need
warnings.filterwarnings("ignore", category=FutureWarning)  # libraries use deprecated names of each other
warnings.filterwarnings("ignore", message="torch.utils.checkpoint: the use_reentrant")  # a section is about it

import bitsandbytes
import torch
import torch.nn.functional as F
from torch import nn

from grader import device_name, lesson_device, look

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 08: why does each block of codes have a scale of its own?</summary>
# An outlier then makes only the codes of its own block coarse.
# </details>
# <details><summary>Lesson 06: what does AdamW hold for a float32 parameter during the step?</summary>
# The parameter, its gradient, and two moments: 16 bytes.
# </details>

# %% [markdown]
# **The problem.** To train seven billion parameters in float32, AdamW needs 112 GB: 16 bytes each. Yet fine-tuning is
# often a small change to a good model. Two ideas reduce this memory:
#
# - **LoRA** freezes the weights and trains a thin correction, so that gradients and moments exist only for the
#   correction.
# - **Quantization** stores the frozen weights in four bits. They are read but never updated, so they need no finer
#   format.
#
# Together they are **QLoRA**. How few bytes are left?

# %% [markdown]
# ## What is stored, what is trained
#
# - A weight is stored as a **code** of 4 bits. Each block of weights has a **scale**, a float32 number. Every layer
#   begins a new block, and its last block may be short.
# - **Double quantization** quantizes the scales, too: each becomes one byte, and a block of *scales* shares a second
#   scale in float32.
# - **LoRA** of rank `r` adds `B A`, times a constant, to a frozen weight `W` [outputs, inputs]. `A` maps the inputs to
#   `r` numbers, and `B` maps these to the outputs. Both are trained in float32 with AdamW.

# %% [markdown]
# **Exercise.** Predict what a plan costs.
#
# *Contract.*
# - `layers` lists (inputs, outputs, has an adapter). All weights are quantized, with or without an adapter.
# - `second_block_size` is None if the scales stay float32.
# - Return a dict of ints or floats: `"bits"`, the stored bits of all layers divided by their weights; `"trained"`, how
#   many numbers are trained; `"update_bytes"`, the bytes of gradients and moments at the step.
# - Count 4 bits for each code, even if their number is odd. Leave out the code books and the mean that is subtracted
#   from the scales: they are the same few bytes for any layer.

# %% tags=["given"]
from grader import check_quantization_plan


# %% exercise="predict_plan"
def predict_plan(layers: list, rank: int, block_size: int, second_block_size: int | None) -> dict:
    """Predict the bits, the trained numbers and the bytes of an update of a plan.

    Args:
        layers: (inputs, outputs, has an adapter) of each linear layer.
        rank: Rank of the adapters.
        block_size: Weights that share a scale.
        second_block_size: Scales that share a second scale, or None.

    Returns:
        "bits", "trained" and "update_bytes".
    """
    ### BEGIN SOLUTION
    weights = sum(inputs * outputs for inputs, outputs, _ in layers)
    bits = 4 * weights
    for inputs, outputs, _ in layers:
        scales = -(-inputs * outputs // block_size)
        bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
    trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
    return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
    ### END SOLUTION


# %%
def show_plans():
    for second_block_size in (None, 256):
        plan = predict_plan([(768, 768, True)], 8, 64, second_block_size)
        print(
            f"second blocks: {second_block_size}: {plan['bits']:.4f} bits, {plan['trained']:,} of {768 * 768:,} trained"
        )


look(show_plans)

# %% check="check_quantization_plan" points=2
check_quantization_plan(predict_plan)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many scales do 64 weights have, and how many do 65 have?<br>
# Then: with double quantization, which numbers are bytes, and how many float32 numbers are left?
# </details>

# %% [markdown]
# **Run.** In the next cell bitsandbytes quantizes one layer, and we count its bytes.

# %%
weight = torch.randn(768, 768, device=device)
for is_doubled in (False, True):
    packed, state = bitsandbytes.functional.quantize_4bit(weight, quant_type="nf4", compress_statistics=is_doubled)
    stored = packed.nbytes + state.absmax.nbytes + (state.state2.absmax.nbytes if is_doubled else 0)
    predicted = look(predict_plan, [(768, 768, True)], 8, 64, 256 if is_doubled else None)
    print(f"double quantization {is_doubled!s:<5}: {8 * stored / weight.numel():.4f} bits, predicted", end=" ")
    print(f"{predicted['bits']:.4f}" if predicted else "-")
for name, per_parameter in {"AdamW, all in float32": 16, "16-bit base": 2, "4.127-bit base": 4.127 / 8}.items():
    print(f"7 billion parameters, {name:<22} {7 * per_parameter:6.1f} GB")

# %% [markdown]
# **Investigate.** A block of 64 weights needs 32 bits for its scale, half a bit per weight. With double quantization
# that is 8 / 64 + 32 / (64 x 256) = 0.127 bits. For 65 billion parameters the paper counts 3 GB saved.
#
# The correction is small compared with the layer because it is thin: `r (inputs + outputs)` instead of
# `inputs x outputs`. All that training adds is proportional to it. What remains is the base, and the activations,
# which become only a little smaller: a frozen linear layer keeps no inputs for the gradient of its weight.

# %% [markdown]
# ## Which 16 values?
#
# **Uniform** quantization cuts the range of values into equal bins. A **threshold** is the border between two bins. A
# value's code is the number of thresholds below it, and it decodes to the middle of its bin. A range measured
# on sample data makes the quantization **static**; one taken from the values themselves, here from each
# block, **dynamic**.
#
# Equal bins suit values that are equally likely. Weights are nearly normal: most of them share the few bins near zero.
# **NF4** (*normal float*) is derived from quantiles of the normal distribution, so that its codes are used more evenly.
# Its ends are -1 and 1, and one code is exactly 0. **FP4** is a tiny floating-point format.


# %%
from grader import draw_curves

NF4, FP4 = (bitsandbytes.functional.get_4bit_type(name, device=device) for name in ("nf4", "fp4"))
books = {"NF4": NF4, "FP4": FP4.sort().values, "uniform": torch.linspace(-1, 1, 16, device=device)}
torch.manual_seed(0)
values = torch.randn(16_384, 64, device=device)  # blocks of 64
scales = values.abs().amax(dim=1, keepdim=True)
shares = {}
for name, book in books.items():
    codes = torch.bucketize(values / scales, (book[1:] + book[:-1]) / 2)
    error = (book[codes] * scales - values).square().mean().sqrt()
    shares[name] = (torch.bincount(codes.flatten(), minlength=16) / values.numel()).tolist()
    print(
        f"{name:<8} error {error:.4f} of the standard deviation, its rarest code has {min(shares[name]):.1%} of values"
    )
draw_curves(range(16), shares, title="Normal values in blocks of 64", x_label="code", y_label="share of the values")

# %% [markdown]
# NF4 distributes the values most evenly over its codes, and its error is the smallest. FP4 spends two codes on zero
# and two on its closest neighbours; on normal values it does worse than equal bins.
#
# The weights of a block are divided by their largest magnitude, as in lesson 08. The decoder below turns codes back
# into values. Two codes share a byte: the first of a pair is its high half.


# %% tags=["given"]
NF4 = bitsandbytes.functional.get_4bit_type("nf4", device=device)  # 16 values from -1 to 1


def dequantize_nf4(packed, scales, shape, block_size: int):
    """Decode bytes [pairs] with scales [blocks] into values of the given shape."""
    numbers = torch.Size(shape).numel()
    codes = torch.stack((packed >> 4, packed & 15), dim=1).flatten()[:numbers]
    return (NF4[codes.long()] * scales.repeat_interleave(block_size)[:numbers]).view(shape)


# %% [markdown]
# ## Complete: the encoder
#
# **Exercise.** Write the inverse of the decoder.
#
# *Contract.*
# - `values` is float32, of any shape. A block is `block_size` consecutive numbers, row by row; the last block may be
#   short. `block_size` is even.
# - Leave `values` as they are. Return the packed codes, `torch.uint8` [pairs], and the scales, float32 [blocks]: the
#   largest magnitude of each block. Codes are those of the nearest values of `NF4`.
# - If the number of codes is odd, the low half of the last byte is free. A block of zeros has the scale 0.
# - Write it by hand, without the quantizer of bitsandbytes.

# %% tags=["given"]
from grader import check_nf4_codes


# %% exercise="quantize_nf4"
def quantize_nf4(values, block_size: int):
    """Quantize a tensor to NF4 by hand.

    Args:
        values: Float32 numbers of any shape.
        block_size: Numbers that share a scale.

    Returns:
        Packed codes, uint8 [pairs], and scales, float32 [blocks].
    """
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    ### BEGIN SOLUTION
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = torch.bucketize(blocks / divisors[:, None], (NF4[1:] + NF4[:-1]) / 2).flatten()[: len(flat)]
    pairs = F.pad(codes, (0, len(codes) % 2)).view(-1, 2)
    return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8), scales
    ### END SOLUTION


# %%
def show_round_trip():
    for block_size in (64, 256, 4096):
        packed, scales = quantize_nf4(values, block_size)
        error = (dequantize_nf4(packed, scales, values.shape, block_size) - values).square().mean().sqrt()
        print(f"blocks of {block_size:>4}: error {error:.4f} of the standard deviation")
    packed, _ = quantize_nf4(weight, 64)
    library, _ = bitsandbytes.functional.quantize_4bit(weight, blocksize=64, quant_type="nf4")
    print("the bytes of bitsandbytes:", torch.equal(packed, library.flatten()))


look(show_round_trip)

# %% check="check_nf4_codes" points=3
check_nf4_codes(quantize_nf4)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: read the decoder from its last line to its first, and undo each step.<br>
# Then: the borders between codes are the midpoints of neighbours. Which number of a pair is multiplied by 16?
# </details>

# %% [markdown]
# An error of 9 % of a standard deviation is large for a weight, and it is permanent. Yet it is made only once, when the
# base is quantized, and not again at each update. The adapter is trained on top of the rounded weights, so it sees
# their error and corrects a part of it.
#
# What must not happen is an update of the codes themselves: a step of 1e-4 is far smaller than the distance between
# two codes, and would be rounded away. (Lesson 20 trains in 8 bits, with master weights in 16 or 32.)

# %% [markdown]
# ## LoRA
#
# `outputs = W x + (alpha / r) B A x`
#
# - **Start.** `A` is random and `B` is zero, so at first the outputs are those of the base, to the bit.
# - **Scale.** `alpha / r` keeps the size of an update about the same when you try another rank.
# - **Cost.** Compute `A x` first, which has `r` numbers per row, then apply `B`. The product `B A` would have the
#   shape of `W`, and so would its gradient.
# - **Merge.** After training, `W + (alpha / r) B A` is one matrix, so inference costs nothing more.

# %% [markdown]
# **Exercise.** Write the adapter.
#
# *Contract.*
# - Return an `nn.Module` around `layer`, an `nn.Linear` with or without bias, for inputs [..., features].
# - Its parameters include `A` [rank, inputs] and `B` [outputs, rank], by these names, on the device of the layer; `A`
#   is random, another one in each adapter, and `B` zero. Nothing else is trained.
# - `forward` adds `alpha / rank` times `B A x`, in train and in eval mode. Gradients reach `A`, `B` and the inputs. Do
#   not create any matrix of the base's shape in `forward`.
# - `merged()` returns a new `nn.Linear` with the same outputs. It leaves base and adapter unchanged, to the bit.

# %% tags=["given"]
import copy

from grader import check_adapted_layer


# %% exercise="add_lora"
def add_lora(layer: nn.Linear, rank: int, alpha: float) -> nn.Module:
    """Freeze a linear layer and add a trained low-rank correction.

    Args:
        layer: The base.
        rank: Numbers between the two factors.
        alpha: The correction is scaled by alpha / rank.

    Returns:
        A module with parameters A and B and a method merged().
    """

    ### BEGIN SOLUTION
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, weight = layer.requires_grad_(False), layer.weight
            self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=weight.device) / layer.in_features**0.5)
            self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=weight.device))

        def forward(self, inputs):
            return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)

        def merged(self):
            whole = copy.deepcopy(self.layer)
            whole.weight.data += alpha / rank * (self.B @ self.A).detach()
            return whole

    return Adapted()
    ### END SOLUTION


# %%
def fit_correction():
    torch.manual_seed(0)
    base, inputs = nn.Linear(64, 64).to(device), torch.randn(512, 64, device=device)
    thin = (torch.randn(64, 4) @ torch.randn(4, 64)).to(device) / 16
    wanted = F.linear(inputs, base.weight.detach() + thin, base.bias.detach())
    for rank in (1, 2, 4, 8):
        adapted = add_lora(copy.deepcopy(base), rank, 2 * rank)
        optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
        for _ in range(300):
            optimizer.zero_grad()
            loss = F.mse_loss(adapted(inputs), wanted)
            loss.backward()
            optimizer.step()
        numbers = adapted.A.numel() + adapted.B.numel()
        print(f"rank {rank}: {numbers:>5,} of {base.weight.numel():,} trained, loss {loss:.1e}")


look(fit_correction)

# %% check="check_adapted_layer" points=3
check_adapted_layer(add_lora)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: which of the layer's tensors and of your own would `model.parameters()` return? Which of them need a
# gradient?<br>
# Then: for inputs in rows, `W x` is `inputs @ W.T`. In which order do the two thin products come?
# </details>

# %% [markdown]
# The correction to be learnt has rank 4. Ranks 1 and 2 cannot represent it. Rank 4 finds it, so that rank 8 has nothing
# to add: both losses are nearly zero.
#
# <details><summary>Why are both gradients zero if A and B start at zero?</summary>
# The gradient of A is multiplied by B, and that of B by A. With B = 0 and A random, B moves first, then A.
# </details>
# <details><summary>Which other start leaves the outputs unchanged, too?</summary>
# A = 0 and B random. It trains as well; libraries use B = 0.
# </details>

# %% [markdown]
# ## Frozen inputs and checkpoints
#
# QLoRA usually runs with gradient checkpointing: the weights are small now, so the activations are most of what is
# left. This has a trap. The first block of a frozen model reads embeddings that need no gradient. What happens to the
# adapters in that block? Decide before you run the cell.

# %%
from torch.utils.checkpoint import checkpoint

for needs_gradient in (False, True):
    for is_reentrant in (True, False):
        block = nn.Sequential(nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 8)).to(device)
        embedded = torch.randn(4, 8, device=device).requires_grad_(needs_gradient)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of exactly this
            output = checkpoint(block, embedded, use_reentrant=is_reentrant)
        if output.requires_grad:
            output.sum().backward()
        reached = block[1].weight.grad is not None
        print(f"inputs need a gradient: {needs_gradient!s:<5}  reentrant: {is_reentrant!s:<5}  trained: {reached}")

# %% [markdown]
# The reentrant checkpoint is a Function of its inputs alone (lesson 03). If no input needs a gradient, its output does
# not need one either, and the gradient never reaches the parameters inside. There are two cures:
# `use_reentrant=False`, or `enable_input_require_grads()`, a hook that makes the embeddings' output need a gradient.
# The libraries set this hook for you, and you will see it in traces.

# %% [markdown]
# ## QLoRA, line by line
#
# 1. `BitsAndBytesConfig(load_in_4bit=True, ...)` defines how `from_pretrained` replaces linear layers: the quant type
#    (default FP4), double quantization (default off), and the **compute dtype**, in which a layer multiplies after it
#    has decoded its weights (default float32; bfloat16 is fast where the hardware has it).
# 2. `prepare_model_for_kbit_training(model)` freezes *everything*, casts 16-bit parameters to float32 (those of
#    normalisations, embeddings and the head), makes the embeddings' output need a gradient, and enables checkpointing.
# 3. `get_peft_model(model, LoraConfig(...))` puts adapters around the layers in `target_modules`, and makes them the
#    only parameters that are trained.

# %% tags=["given"]
import tempfile

import transformers
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

from grader import make_token_rows, plain_trainer_arguments, save_language_model

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()
folder = save_language_model(tempfile.mkdtemp())  # a small Llama in bfloat16, as a hub would hand it out
rows_of_tokens = make_token_rows(31, 64)
same_run = plain_trainer_arguments(device)  # equal to a plain raw loop, with SGD

# %% [markdown]
# **Bug hunt.** An essay prints this listing for efficient fine-tuning. It runs without an error. Before you run it:
# what is trained?

# %%
listing = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=listing, device_map={"": device})
model = prepare_model_for_kbit_training(model)  # the essay: "a quantized version for" PEFT
batch = {name: tokens[:8].to(device) for name, tokens in rows_of_tokens[:].items()}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
before = {name: value.detach().clone() for name, value in model.named_parameters()}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model.train()(**batch).loss.backward()
optimizer.step()
changed = [name for name, value in model.named_parameters() if not torch.equal(value, before[name])]
print(f"trained numbers: {sum(value.numel() for value in model.parameters() if value.requires_grad)}")
print(f"tensors that a step changed: {len(changed)}; tensors with state: {len(optimizer.state)}")

# %% [markdown]
# Nothing fails, and nothing is trained, because the essay imports `get_peft_model` but never calls it. The preparation
# has frozen the base. The loss has a graph only because the embeddings' *output* was made to need a gradient, and
# AdamW skips parameters without one. (The Trainer refuses such a model.)
#
# The text around the listing is wrong, too: no quantized version of an adapter is made. Float32 adapters are added to
# a quantized base.

# %% [markdown]
# **Exercise.** Run QLoRA in two forms.
#
# *Contract (both).*
# - Load the model in `folder`, with no other dtype, in NF4 with double quantization, computing in `compute_dtype`, on
#   `device`. Prepare it, checkpointing included.
# - Put float32 adapters on every `q_proj` and `v_proj`: `rank`, alpha twice the rank, no dropout, B zero.
# - Use `torch.optim.AdamW` at constant `learning_rate`, without weight decay, otherwise with defaults: one epoch in
#   order, one update per batch of `rows` rows, the short last one included. Return the trained model.
# - Accelerate: prepare model, optimizer and loader; use what `prepare` returns. Trainer: add to `same_run` with `|`.
#
# The check compares the factors with a raw loop's, and reads how the base is stored and what the optimizer holds.

# %% tags=["given"]
from grader import check_qlora_accelerate, check_qlora_trainer


# %% exercise="train_qlora_with_accelerate"
def train_qlora_with_accelerate(folder, dataset, rows: int, rank: int, learning_rate: float, compute_dtype):
    """Load, prepare, adapt and train a model in a loop with Accelerate.

    Args:
        folder: Folder from which from_pretrained loads it.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update.
        rank: Rank of the adapters.
        learning_rate: Learning rate of AdamW.
        compute_dtype: Format in which 4-bit layers multiply.

    Returns:
        The trained model.
    """
    ### BEGIN SOLUTION
    nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
    config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=config, device_map={"": device})
    adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer, accelerator = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0), Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    return model
    ### END SOLUTION


# %% exercise="train_qlora_with_trainer"
def train_qlora_with_trainer(folder, dataset, rows: int, rank: int, learning_rate: float, compute_dtype):
    """Load, prepare, adapt and train a model with the Trainer.

    Args:
        folder: Folder from which from_pretrained loads it.
        dataset: Rows with the columns that the model takes, labels included.
        rows: Rows of each update.
        rank: Rank of the adapters.
        learning_rate: Learning rate of AdamW.
        compute_dtype: Format in which 4-bit layers multiply.

    Returns:
        The trained model.
    """
    ### BEGIN SOLUTION
    nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
    config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=config, device_map={"": device})
    adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(prepare_model_for_kbit_training(model), adapter)
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
    Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
    return model
    ### END SOLUTION


# %% [markdown]
# The next cells show one table for four updates of 8 rows: all weights in float32 with AdamW, and QLoRA in both forms.
# The peak is that of the whole run, loading included. Before you run them: which of the columns trained, state and
# peak falls least?


# %%
import contextlib
import io
import time

from torch.optim.optimizer import register_optimizer_step_post_hook

from grader import format_bytes, measure_peak_memory, optimizer_state_bytes


def train_all_weights(folder, dataset, rows, rank, learning_rate, compute_dtype):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, device_map={"": device}).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    for batch in DataLoader(dataset, batch_size=rows):
        model(**{name: tokens.to(device) for name, tokens in batch.items()}).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


# %%
def measure_form(train):
    def run():
        torch.manual_seed(0)  # the same first factors in each form
        trained.append(train(folder, rows_of_tokens, 8, 4, 5e-3, torch.float32))

    trained, states = [], []
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handle = register_optimizer_step_post_hook(lambda own, *_: states.append(optimizer_state_bytes(own)))
        begun = time.perf_counter()
        run()
        seconds, model = time.perf_counter() - begun, trained.pop()
        handle.remove()
        peak = measure_peak_memory(lambda: (run(), trained.clear())).peak_bytes
    counted = sum(value.numel() for value in model.parameters() if value.requires_grad)
    factors = [value.detach().flatten() for name, value in model.named_parameters() if "lora_" in name]
    return counted, max(states), peak, seconds, torch.cat(factors) if factors else None


# %%
def show_forms(**forms):
    print(f"{'form':<14}{'trained':>10}{'state':>11}{'peak':>11}{'run':>8}")
    first = None
    for name, train in forms.items():
        counted, state_bytes, peak, seconds, factors = measure_form(train)
        line = f"{name:<14}{counted:>10,}{format_bytes(state_bytes):>11}{format_bytes(peak):>11}{seconds:>6.1f} s"
        first = factors if first is None else first
        print(
            line, f" from the first form: {(factors - first).norm() / first.norm():.1e}" if factors is not None else ""
        )


look(lambda: show_forms(everything=train_all_weights))
look(lambda: show_forms(Accelerate=train_qlora_with_accelerate, Trainer=train_qlora_with_trainer))

# %% check="check_qlora_accelerate" points=2
check_qlora_accelerate(train_qlora_with_accelerate)

# %% check="check_qlora_trainer" points=2
check_qlora_trainer(train_qlora_with_trainer)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: the section "QLoRA, line by line" names three calls. Which of them undoes what another one did, if you swap
# the two?<br>
# Then: in which mode does `from_pretrained` return a model, and who changes that mode in each form? What does
# `same_run` set for the optimizer?
# </details>

# %% [markdown]
# Trained numbers and state fall by the same factor, because AdamW keeps two moments for each trained number. The peak
# falls least: four bits shrink the base, and checkpointing the activations, but both remain, and at this small size
# the embeddings and the head, in float32, are a visible part of the rest. Checkpointing costs time, and so does
# decoding the weights in each forward and each backward pass: QLoRA makes a step slower.
#
# Embeddings, normalisations and the head are not quantized: `from_pretrained` replaces `nn.Linear` modules except the
# output embedding.

# %% [markdown]
# ## Low rank elsewhere
#
# LoRA makes the *change of the weights* thin. **GaLore** and **APOLLO** train all weights and make the *optimizer's
# view* thin. GaLore projects each gradient [m, n] to [r, n], with a matrix P made of its singular vectors and renewed
# every few hundred steps. It keeps AdamW's moments there, and projects the update back. APOLLO projects at random, so
# that a seed replaces P, and uses the small moments only to determine the length of each channel's step.
#
# Their gradients are as large as the weights (unless a layer steps in backward, lesson 06), and the weights need a
# format that can be updated. In the Trainer they are values of `optim`.

# %%
m, n, r = 4096, 4096, 128
held = {
    "AdamW": (m * n, 2 * m * n),
    "GaLore": (m * n, m * r + 2 * r * n),
    "APOLLO": (m * n, 2 * r * n),
    "LoRA": (r * (m + n), 2 * r * (m + n)),
}
print(f"one layer of {m} x {n}, rank {r}, numbers in millions")
for name, (trained, state) in held.items():
    print(f"{name:<8} trained {trained / 1e6:6.2f}   gradients {trained / 1e6:6.2f}   state {state / 1e6:6.2f}")

# %% [markdown]
# ## The price
#
# | | all weights, AdamW | LoRA, 16-bit base | QLoRA |
# |---|---|---|---|
# | base, bytes per parameter | 4 | 2 | 0.52 |
# | gradients and moments | 12 for each parameter | 12 for each number of the factors | the same |
# | forward and backward | 1 | no gradients of weights: fewer FLOPs | the same, and decoding |
# | published | more than 780 GB for 65 billion, in 16 bits (12 bytes for each) | – | less than 48 GB |
#
# - **Use it when** the base does not fit for full fine-tuning, or many variants of one base are served.
# - **Do not** use it for pre-training, or where the change has a high rank: compare with full fine-tuning once.
# - **Combine with** checkpointing, paged 8-bit optimizers (lesson 08), packing (lesson 11).

# %% [markdown] tags=["further"]
# ## Further: quantization-aware training
#
# QLoRA stores some weights in few bits and trains others. **Quantization-aware training** prepares the weights
# themselves for few bits. In each forward pass they are rounded to the grid (*fake* quantization, because the result
# is a float), and training finds weights that are good *after* rounding.
#
# The derivative of `round` is zero nearly everywhere, so no gradient would pass. The **straight-through estimator**
# uses the derivative of the identity instead. Values beyond the grid are clipped; moving them changes nothing, so
# their gradient is zero.

# %% [markdown]
# **Exercise.** Write fake quantization.
#
# *Contract.*
# - The grid is `scale` times the signed integers that `bits` bits can hold: 4 bits hold -8 to 7.
# - Return the nearest values of the grid, in the shape and format of `values`, which stay as they are; halfway cases go
#   to the even integer.
# - The gradient of `values` is that of the result where `values / scale` is in the range of the integers, its ends
#   included, and zero elsewhere. The scale needs no gradient.

# %% tags=["given"]
from grader import check_fake_quantization


# %% exercise="fake_quantize"
def fake_quantize(values: torch.Tensor, scale: float, bits: int) -> torch.Tensor:
    """Round values to a grid, and pass gradients straight through.

    Args:
        values: Any shape; they may need a gradient.
        scale: Distance between two neighbours of the grid.
        bits: Bits of a signed integer.

    Returns:
        Values on the grid.
    """
    ### BEGIN SOLUTION
    steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return scale * (steps + (steps.round() - steps).detach())
    ### END SOLUTION


# %%
def run_network(weights, inputs, bits):
    for index, weight in enumerate(weights):
        scale = float(weight.detach().abs().max()) / 2 ** (bits - 1) if bits else 1.0
        inputs = inputs @ (fake_quantize(weight, scale, bits) if bits else weight)
        inputs = inputs if index == len(weights) - 1 else inputs.relu()
    return inputs


def fit_network(weights, inputs, wanted, bits):
    optimizer = torch.optim.Adam(weights, lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=300)
    for _ in range(300):
        optimizer.zero_grad()
        F.mse_loss(run_network(weights, inputs, bits), wanted).backward()
        optimizer.step()
        schedule.step()


# %%
def compare_rounding():
    torch.manual_seed(0)
    inputs = torch.randn(1024, 16, device=device)
    wanted = torch.stack((inputs[:, 0] * inputs[:, 1], (inputs[:, 2] * inputs[:, 3]).abs(), inputs[:, 4]), dim=1)
    sides = ((16, 64), (64, 64), (64, 3))
    weights = [nn.Parameter(torch.randn(side, device=device) / side[0] ** 0.5) for side in sides]

    def print_loss(text, bits):
        with torch.no_grad():
            print(f"{text:<28} loss {F.mse_loss(run_network(weights, inputs, bits), wanted):.3f}")

    fit_network(weights, inputs, wanted, None)
    print_loss("float32", None)
    print_loss("4 bits, rounded afterwards", 4)
    fit_network(weights, inputs, wanted, 4)
    print_loss("4 bits, trained with rounding", 4)


look(compare_rounding)

# %% check="check_fake_quantization" points=2
check_fake_quantization(fake_quantize)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: `x + (y - x).detach()` has the value of `y`. Whose gradient does it have?<br>
# Then: which function has the gradient 1 within a range and 0 outside of it?
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Where do the 0.127 bits of double quantization come from?</summary>
# From one byte for each 64 weights, and one float32 number for each 256 of these bytes.
# </details>
# <details><summary>What does prepare_model_for_kbit_training do, and what does it not do?</summary>
# It freezes everything, casts 16-bit parameters to float32 and enables checkpointing. It adds nothing that trains.
# </details>
# <details><summary>Which bytes of training does LoRA leave unchanged?</summary>
# Those of the base, and most of the activations. Four bits shrink the first, checkpointing the second.
# </details>
#
# **Takeaway: store what is frozen in few bits, and train a thin correction that starts at zero.**
#
# Your points so far: run `grader.scorecard()` after `import grader`. Next: lesson 22, distillation.

# %% [markdown]
# **Sources**
# - [Dettmers, Pagnoni, Holtzman and Zettlemoyer, QLoRA][qlora] (2023): NF4, double quantization, 65 billion
#   parameters.
# - [Hu and others, LoRA][lora] (2021): the start, alpha / r, merging.
# - [Zhao and others, GaLore][galore] (2024) and [Zhu and others, APOLLO][apollo] (2024): low-rank states.
# - [Bengio, Léonard and Courville][ste] (2013): the straight-through estimator. [Jacob and others][jacob] (2017): fake
#   quantization.
# - [Transformers, bitsandbytes][bnb] and [PEFT, quantization][peft]: what each line of the set-up does.
#
# [qlora]: https://arxiv.org/abs/2305.14314
# [lora]: https://arxiv.org/abs/2106.09685
# [galore]: https://arxiv.org/abs/2403.03507
# [apollo]: https://arxiv.org/abs/2412.05270
# [ste]: https://arxiv.org/abs/1308.3432
# [jacob]: https://arxiv.org/abs/1712.05877
# [bnb]: https://huggingface.co/docs/transformers/quantization/bitsandbytes
# [peft]: https://huggingface.co/docs/peft/developer_guides/quantization
