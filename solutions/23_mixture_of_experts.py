# %% [markdown]
# # 23. Mixture of experts
#
# You train a layer that has many feed-forward parts, of which each token uses a few, and keep all of them busy.
#
# 60 min (estimated) · CPU is enough · after lessons 10 and 14

# %% [markdown] objectives="1; 2; 3; 4"
# **You will be able to**
# - predict which costs follow all parameters, and which follow the few that a token meets;
# - complete the loss that keeps a router from sending every token to the same expert;
# - write a routing that stays balanced without such a loss;
# - write the dispatch of tokens to experts that have limited room.

# %% tags=["given"]
import math

import torch
import torch.nn.functional as F
from torch import nn

from grader import device_name, lesson_device, look

device = lesson_device()
print(f"measured on: {device_name()}, torch {torch.__version__}")

# %% [markdown]
# **Recall.** Answer, then unfold.
#
# <details><summary>Lesson 10: how many FLOPs does one update take per weight of a matrix and per token?</summary>
# Six: two in the forward pass, and four in the backward pass.
# </details>
# <details><summary>Lesson 14: what does rank r receive in an all-to-all?</summary>
# From every other rank, the part of that rank's data that is meant for rank r.
# </details>

# %% [markdown]
# **The problem.** More parameters make a better model, and they also cost FLOPs: six per weight and token. A **mixture
# of experts** breaks this link. It replaces the feed-forward part of a block by several, the **experts**, and a small
# **router** sends each token to only a few of them. How far apart do size and compute get? The next cell builds the
# published shape of Mixtral 8x7B on the `meta` device, which holds no data.

# %%
from transformers import MixtralConfig, MixtralForCausalLM

with torch.device("meta"):
    mixtral = MixtralForCausalLM(MixtralConfig())  # its defaults are the published shape
total = sum(parameter.numel() for parameter in mixtral.parameters())
in_experts = sum(parameter.numel() for name, parameter in mixtral.named_parameters() if ".experts." in name)
experts, chosen = mixtral.config.num_local_experts, mixtral.config.num_experts_per_tok
active = total - in_experts * (experts - chosen) // experts
print(f"{chosen} of {experts} experts per token: {total / 1e9:.1f} B parameters in total, {active / 1e9:.1f} B active")

# %% [markdown]
# The second number counts the **active** parameters: those that a single token is multiplied by. Two sizes of one
# model, then. Which of them decides what training costs?

# %% [markdown]
# ## Predict: what experts cost
#
# The model below has `layers` blocks. In the last block of each full group of `every` blocks, `experts` feed-forward
# parts take the place of one. With `every = 2`, as in GLaM, these are the blocks 2, 4, 6, and so on.

# %% [markdown]
# **Exercise.** Write down the costs of the whole model.
#
# *Contract.*
# - Attention has four matrices [width, width]; a feed-forward part has two, [hidden, width] and [width, hidden]. A
#   router is a matrix [experts, width], which every token meets. There are no other parameters.
# - Each token is sent to `chosen` experts.
# - Return a dict: `total` and `active` parameters; `bytes` of weights, gradients and AdamW's two moments, all in
#   float32; `flops` of one token in one update, counting only products with weights, a multiplication and an addition
#   counted as two.

# %% tags=["given"]
from grader import check_expert_costs


# %% exercise="expert_costs"
def expert_costs(layers: int, every: int, width: int, hidden: int, experts: int, chosen: int) -> dict:
    """Costs of a model with experts in some of its blocks.

    Args:
        layers: Blocks.
        every: The last block of each full group of so many has experts.
        width: Features of a token.
        hidden: Features within a feed-forward part.
        experts: Feed-forward parts of a block with experts.
        chosen: Experts that each token is sent to.

    Returns:
        Numbers by name: total, active, bytes, flops.
    """
    ### BEGIN SOLUTION
    sparse = layers // every
    expert = 2 * width * hidden
    shared = layers * 4 * width * width + (layers - sparse) * expert + sparse * experts * width
    total = shared + sparse * experts * expert
    active = shared + sparse * chosen * expert
    return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
    ### END SOLUTION


# %%
def show_costs():
    for name, sizes in {"1 expert": (12, 2, 768, 3072, 1, 1), "8 experts": (12, 2, 768, 3072, 8, 2)}.items():
        costs = expert_costs(*sizes)
        print(
            f"{name:<10} {costs['total'] / 1e6:6.1f} M parameters, {costs['active'] / 1e6:6.1f} M active, "
            f"{costs['bytes'] / 2**30:.2f} GiB, {costs['flops'] / 1e9:.2f} GFLOPs per token"
        )


look(show_costs)

# %% check="check_expert_costs" points=3
check_expert_costs(expert_costs)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: take a model of two blocks with `every = 2`, and list every matrix that it has.<br>
# Then: two tokens of a batch may choose different experts. Which experts does the device have to hold, and by which
# ones is a single token multiplied?
# </details>

# %% [markdown]
# **Investigate.** *Memory follows the total, and FLOPs follow the active parameters.* So experts exchange memory for
# compute: they help where FLOPs are scarce and memory is not, which is the opposite of almost everything else in this
# course.
#
# Reports of training that is "4 to 5 times cheaper" compare the FLOPs, or the time, that a sparse and a dense model
# need for the **same loss**. They do not compare models of the same size: at the same total size, the dense model is
# usually the better one.

# %% [markdown]
# ## A layer that collapses
#
# The layer below sends each token to the expert with the largest probability, and multiplies what the expert returns by
# that probability, the **gate**. The choice itself has no gradient; only the gate tells the router whether its choice
# was good.


# %% tags=["given"]
class ExpertLayer(nn.Module):
    """One expert for each token; `bias` [experts] takes part in the choice."""

    def __init__(self, width, hidden, experts):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        parts = (nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width)) for _ in range(experts))
        self.experts = nn.ModuleList(parts)
        self.bias = torch.zeros(experts, device=device)

    def forward(self, tokens):
        """Return [tokens, width]; keeps the router's logits and its choices."""
        self.logits = self.router(tokens)
        probabilities = self.logits.softmax(dim=1)
        self.choices = (probabilities + self.bias).argmax(dim=1)
        outputs = torch.zeros_like(tokens)
        for place, expert in enumerate(self.experts):
            (rows,) = torch.where(self.choices == place)
            outputs = outputs.index_add(0, rows, probabilities[rows, place, None] * expert(tokens[rows]))
        return outputs


# %% [markdown]
# The task suits eight experts: tokens come from eight clusters, each of which needs another linear map. The function
# trains a layer, and records how large a share of the tokens each expert gets.


# %% tags=["given"]
def draw_tokens(count, seed):
    fixed, draw = torch.Generator().manual_seed(7), torch.Generator().manual_seed(seed)
    maps = torch.randn(8, 16, 16, generator=fixed) / 4
    centers = 1.5 * torch.randn(8, 16, generator=fixed) + 2
    cluster = torch.randint(8, (count,), generator=draw)
    tokens = centers[cluster] + torch.randn(count, 16, generator=draw)
    return tokens.to(device), (tokens[:, None] @ maps[cluster])[:, 0].tanh().to(device)


# %% tags=["given"]
def train_layer(layer, extra_loss=None, after_update=None, updates=300):
    optimizer, shares = torch.optim.AdamW(layer.parameters(), lr=3e-3), []
    for update in range(updates):
        tokens, targets = draw_tokens(256, update)
        loss = F.mse_loss(layer(tokens), targets)
        optimizer.zero_grad()
        (loss if extra_loss is None else loss + extra_loss(layer)).backward()
        optimizer.step()
        if after_update is not None:
            after_update(layer)
        shares.append(torch.bincount(getattr(layer, "choices", torch.zeros(1, dtype=torch.long)), minlength=8) / 256)
    return torch.stack(shares), loss.item()


def make_layer():
    torch.manual_seed(2)
    return ExpertLayer(16, 32, 8).to(device)


# %%
from grader import draw_curves

shares, loss = train_layer(make_layer())
means = shares.view(-1, 20, 8).mean(dim=1)
means = means[:, means[-1].argsort(descending=True)]
curves = {"most used": means[:, 0], "second": means[:, 1], "the other six together": means[:, 2:].sum(dim=1)}
curves = {name: share.tolist() for name, share in curves.items()}
draw_curves(range(20, 301, 20), curves, title="Who computes the tokens", x_label="update", y_label="share of tokens")
print(f"largest share {means[-1].max():.0%}; experts with less than 1 %: {int((means[-1] < 0.01).sum())} of 8")


# %% [markdown]
# An expert that is chosen is trained; a trained expert returns better answers, and is chosen more often. So a few
# experts take nearly all tokens, and the others never learn anything. This is **collapse**: the memory of eight
# experts, and the quality of a few. If the experts are on several devices, most of the devices wait as well.

# %% [markdown]
# ## Complete: a loss that balances
#
# The **balance loss** of one layer is
#
# `experts x sum over the experts of (share x mean probability)`
#
# The *share* of an expert counts the choices that it got, out of all choices of the batch. The *mean probability* is
# what the router gave it, averaged over all tokens. The loss is added to the training loss with a small weight, such as
# 0.01. Its value alone does not prove balance: it can be low where shares and probabilities disagree, so watch the
# shares, too.

# %% [markdown]
# **Exercise.** Complete the balance loss. Before you run it: what is its value for a uniform router, and what for a
# collapsed one?
#
# *Contract.*
# - `router_logits` has the shape [tokens, experts]; each token chooses the `chosen` experts with the largest
#   probabilities.
# - Shares add up to 1, whatever `chosen` is.
# - Return a scalar tensor with a gradient. The check compares values and gradients in five settings.

# %% tags=["given"]
from grader import check_balance_loss


# %% exercise="balance_loss"
def balance_loss(router_logits: torch.Tensor, chosen: int) -> torch.Tensor:
    """Balance loss of one layer.

    Args:
        router_logits: [tokens, experts].
        chosen: Experts that each token is sent to.

    Returns:
        The loss, a scalar.
    """
    probabilities = router_logits.softmax(dim=1)
    picked = probabilities.topk(chosen, dim=1).indices
    ### BEGIN SOLUTION
    experts = router_logits.shape[1]
    shares = torch.bincount(picked.flatten(), minlength=experts) / picked.numel()
    return experts * (shares * probabilities.mean(dim=0)).sum()
    ### END SOLUTION


# %%
def show_balance():
    even = 9 * F.one_hot(torch.arange(64) % 8).float()
    collapsed = 9 * F.one_hot(torch.zeros(64, dtype=torch.int64), 8).float()
    print(f"even {balance_loss(even, 1):.2f}, collapsed {balance_loss(collapsed, 1):.2f}")
    shares, loss = train_layer(make_layer(), lambda layer: 0.1 * balance_loss(layer.logits, 1))
    print(f"trained with it: largest share {shares[-20:].mean(dim=0).max():.0%}, loss {loss:.3f}")


look(show_balance)

# %% check="check_balance_loss" points=3
check_balance_loss(balance_loss)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: how many choices does a batch have, if each of N tokens makes k of them?<br>
# Then: one of the two factors is a count, and has no gradient. Which one can the router change, and in which
# direction does it move an expert that has too many tokens?
# </details>

# %% [markdown]
# Why multiply a count by a probability? A count alone has no gradient. Probabilities alone would be uniform for a
# router that is merely undecided, and still sends everything to the same expert. In the product, the count decides
# *how hard* the probability of an expert is pushed down.
#
# The loss has a price: its gradient also pulls tokens away from the expert that suits them. The weight decides between
# quality and balance, and has to be tuned.

# %% [markdown]
# ## Write: balance without a loss
#
# DeepSeek-V3 balances mainly without such a gradient. Each expert has a **bias**, which is added to its score *when the
# choice is made, and nowhere else*. After each update, the bias of an expert that got too many tokens falls by a fixed
# step, and the bias of one that got too few rises. Its scores are sigmoids, and a small balance loss remains; the
# exercise has the softmax from above, and no loss.

# %% [markdown]
# **Exercise.** Route one batch.
#
# *Contract.*
# - `router_logits` [tokens, experts]; their softmax over the experts gives the probabilities; `bias` [experts].
# - Each token goes to the `chosen` experts with the largest sum of probability and bias.
# - The gate of a chosen expert is its probability, divided by the sum of the probabilities of that token's chosen
#   experts. All other gates are 0.
# - The next bias is higher by `rate` for an expert with fewer tokens than the mean, lower by `rate` for one with more,
#   and the same for one with exactly the mean, which may be a fraction. The argument stays as it is.
# - Return the gates [tokens, experts], through which a gradient reaches the logits, and the next bias.

# %% tags=["given"]
from grader import check_routing_bias


# %% exercise="route_with_bias"
def route_with_bias(router_logits: torch.Tensor, bias: torch.Tensor, chosen: int, rate: float):
    """Route one batch, and balance the next one.

    Args:
        router_logits: [tokens, experts].
        bias: Of each expert, [experts].
        chosen: Experts that each token is sent to.
        rate: By how much a bias changes.

    Returns:
        The gates [tokens, experts] and the next bias [experts].
    """
    ### BEGIN SOLUTION
    probabilities = router_logits.softmax(dim=1)
    picked = (probabilities + bias).topk(chosen, dim=1).indices
    kept = probabilities.gather(1, picked)
    gates = torch.zeros_like(probabilities).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True))
    counts = torch.bincount(picked.flatten(), minlength=len(bias)).to(bias.dtype)
    return gates, bias + rate * (counts.mean() - counts).sign()
    ### END SOLUTION


# %%
def move_bias(layer):
    _, layer.bias = route_with_bias(layer.logits.detach(), layer.bias, 1, 0.01)


def show_bias():
    layer = make_layer()
    shares, loss = train_layer(layer, after_update=move_bias)
    print(f"trained with a bias: largest share {shares[-20:].mean(dim=0).max():.0%}, loss {loss:.3f}")
    print("bias:", ", ".join(f"{value:+.2f}" for value in layer.bias.tolist()))


look(show_bias)

# %% check="check_routing_bias" points=3
check_routing_bias(route_with_bias)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: two sets of numbers decide two questions: who computes the token, and how much the answer counts.<br>
# Then: `gather` reads the chosen numbers of each row, and `scatter` writes them back to their places.
# </details>

# %% [markdown]
# <details><summary>Explain in one sentence: why must the bias stay out of the gate?</summary>
# The gate carries the gradient that tells the router how good its choice was, and a bias that serves the load would
# distort the output and this signal alike.
# </details>

# %% [markdown]
# ## Write: dispatch with limited room
#
# Balance is never perfect, but memory and exchanges between devices are easiest to plan with fixed sizes. So each
# expert gets a **capacity**: `capacity factor x choices / experts`, the result rounded up, where the *choices* of a
# batch are the gates that are not 0. Tokens beyond the capacity are **dropped**: the expert adds nothing to them, and
# only the residual connection around the layer carries them on. A factor of 1 has room for a perfectly balanced batch;
# 1.25 is common.

# %% [markdown]
# **Exercise.** Write the layer between router and output.
#
# *Contract.*
# - `tokens` [count, width]; `gates` [count, experts] is 0 where an expert was not chosen; each expert maps
#   [rows, width] to the same shape.
# - Each expert takes its tokens in their order, up to its capacity. Those that it drops get nothing from it, and their
#   other gates stay as they are.
# - Each expert runs at most once, on the tokens that it takes and on no others.
# - Return [count, width]: the sum of gate times output, over the experts that took the token. Gradients reach tokens,
#   gates and experts.

# %% tags=["given"]
from grader import check_dispatch_rows, check_dispatched_tokens


# %% exercise="dispatch"
def dispatch(tokens: torch.Tensor, gates: torch.Tensor, experts, capacity_factor: float) -> torch.Tensor:
    """Send tokens to experts that have limited room.

    Args:
        tokens: [count, width].
        gates: [count, experts].
        experts: Modules, each called on [rows, width].
        capacity_factor: Room of an expert, relative to a balanced batch.

    Returns:
        [count, width].
    """
    ### BEGIN SOLUTION
    choices = int((gates > 0).sum())
    capacity = math.ceil(capacity_factor * choices / len(experts))
    outputs = torch.zeros_like(tokens)
    for place, expert in enumerate(experts):
        rows = torch.where(gates[:, place] > 0)[0][:capacity]
        if len(rows):
            outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
    return outputs
    ### END SOLUTION


# %%
def show_drops():
    tokens = torch.ones(240, 16, device=device)
    for name, shares in {"balanced": [1 / 8] * 8, "skewed": [0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05]}.items():
        generator = torch.Generator().manual_seed(0)
        choices = torch.multinomial(torch.tensor(shares), 240, replacement=True, generator=generator)
        gates = F.one_hot(choices, 8).float().to(device)
        for factor in (1.0, 1.25, 2.0):
            outputs = dispatch(tokens, gates, [nn.Identity()] * 8, factor)
            print(f"{name:<9} capacity factor {factor:<5} dropped {(outputs == 0).all(dim=1).float().mean():.0%}")


look(show_drops)

# %% check="check_dispatched_tokens" points=3
check_dispatched_tokens(dispatch)

# %% check="check_dispatch_rows" points=1
check_dispatch_rows(dispatch)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: write it for a single expert. Which rows are its own, and how many of them has it room for?<br>
# Then: several experts may add to the same row. `index_add` adds rows at given places, and keeps the graph.
# </details>

# %% [markdown]
# **Modify.** Change the last weight of the skewed router from 0.05 to 0.0, so that no token chooses expert 7. Before
# you run it: is the share of dropped tokens higher, lower or the same?
#
# <details><summary>Answer</summary>
# Higher. The capacity depends on the number of experts, chosen or not, and the same tokens now crowd into seven.
# </details>

# %% [markdown]
# ## In libraries
#
# The models of `transformers` return their router's logits, and add a balance loss that is weighted by
# `router_aux_loss_coef`, if `output_router_logits` is set in the configuration. It is off by default, so a fine-tuning
# run with the Trainer or with Accelerate trains **without balance** unless you set it. The next cell compares its value
# with that of your function.

# %%
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
config = MixtralConfig(vocab_size=64, num_hidden_layers=1, num_local_experts=8, output_router_logits=True, **sizes)
torch.manual_seed(0)
model = MixtralForCausalLM(config)
words = torch.randint(64, (4, 32))
outputs = model(input_ids=words, labels=words)


def compare_losses():
    own = balance_loss(outputs.router_logits[0], 2)
    print(f"transformers' balance loss: {outputs.aux_loss:.4f}; yours: {own:.4f}")
    print(f"their ratio: {outputs.aux_loss / own:.4f}, added with a weight of {config.router_aux_loss_coef}")


look(compare_losses)

# %% [markdown]
# The ratio is the number of chosen experts: transformers counts choices per token, so its shares add up to 2 here. The
# same weight balances twice as hard as with shares that add up to 1. Compare definitions before you compare weights.
#
# **Several devices.** In **expert parallel**, each rank holds some of the experts. An *all-to-all* takes the tokens to
# their experts, and a second one brings the results back; the backward pass needs both again.

# %%
tokens, width, chosen, ranks = 8 * 4096, 4096, 2, 8
sent = tokens * chosen * width * 2 * (ranks - 1) / ranks  # bytes of one all-to-all from each rank, in bf16
print(f"{sent / 1e9:.2f} GB from each rank in each all-to-all, {4 * sent / 1e9:.1f} GB per layer and update")
for link, rate in {"NVLink, 450 GB/s each way": 450e9, "network, 50 GB/s": 50e9}.items():
    print(f"{link:<26} {1000 * 4 * sent / rate:6.1f} ms per layer")

# %% [markdown]
# That is why routing is often limited to a few nodes, and why the slowest expert, not the mean, sets the time of a
# layer.
# DeepSpeed-MoE and Megatron Core implement expert parallel next to data, tensor and pipeline parallel. For inference,
# all experts must be in memory. Where that is too much, lesson 22 applies: DeepSpeed-MoE and the Switch Transformer
# both distil a sparse teacher into a smaller model.

# %% [markdown]
# ## The price
#
# The last cell compares the layer, balanced by your bias, with two dense ones: as many *active* parameters, and as many
# *in total*.

# %%
from grader import format_bytes, measure_peak_memory, measure_step_time


def make_dense(hidden):
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, 16)).to(device)


def make_update(layer):
    optimizer, (tokens, targets) = torch.optim.AdamW(layer.parameters(), foreach=False), draw_tokens(4096, 0)

    def step():
        optimizer.zero_grad()
        F.mse_loss(layer(tokens), targets).backward()
        optimizer.step()

    return {"step": step, "model": layer, "optimizer": optimizer, "inputs": (tokens, targets)}


# %%
def show_price():
    layers = {"as many active": make_dense(32), "8 experts": make_layer(), "as many in total": make_dense(256)}
    losses = [train_layer(layer, after_update=move_bias if "8" in name else None)[1] for name, layer in layers.items()]
    updates = [make_update(layer) for layer in layers.values()]
    times = measure_step_time(*(update["step"] for update in updates), run_count=5, warm_up_count=1)
    print(f"measured on: {device_name()}, 4,096 tokens, five updates of each in turn")
    for name, update, loss, step in zip(layers, updates, losses, times.steps, strict=True):
        numbers = sum(parameter.numel() for parameter in layers[name].parameters())
        peak = format_bytes(measure_peak_memory(**update).peak_bytes)
        milliseconds = 1000 * step.median_seconds
        print(f"{name:<17} {numbers:>6,} parameters   loss {loss:.3f}   peak {peak:>9}   {milliseconds:5.1f} ms")


look(show_price)

# %% [markdown]
# In this task the experts match the clusters, so eight small experts come close to a dense layer of their total size,
# with about a seventh of its products and far fewer activations. Their time shows how much of that a device can use:
# eight small products, and the copies around them, run less efficiently than a large one. On a GPU, *grouped* matrix
# products compute all experts in one kernel for that reason.

# %% [markdown]
# - **Use it when** compute limits you and memory does not: pre-training on many devices with fast links.
# - **Do not** use it to fit a model into memory, because weights, gradients and optimizer state follow the total, and
#   not where each expert would see little data.
# - **Combine with** expert and data parallel (lessons 15 and 18), a small optimizer state (lessons 07 and 08), and
#   4-bit weights for inference (lesson 21).

# %% [markdown] tags=["further"]
# ## Further: one expert on each rank
#
# Four ranks hold one expert each, and every rank has 64 tokens of 16 features. How many tokens an expert receives
# depends on the router, so the ranks first tell each other the numbers, and then exchange the tokens themselves.
#
# Predict before you run it: how many all-to-alls does an update make, and how many bytes does a rank put into them?


# %% tags=["given"]
import torch.distributed as dist

from grader import run_ranks


def make_ranked_experts(count):
    torch.manual_seed(1)
    return nn.Linear(16, count), [nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)) for _ in range(count)]


def send_to_experts(rank, world_size, tokens):
    from torch.distributed.nn.functional import all_to_all_single

    router, experts = make_ranked_experts(world_size)
    own = tokens[rank].requires_grad_()
    gates, choices = router(own).softmax(dim=1).max(dim=1)
    order = choices.argsort(stable=True)  # tokens of one expert next to each other
    sent = choices.bincount(minlength=world_size)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    arrived = own.new_empty(int(received.sum()), 16)
    arrived = all_to_all_single(arrived, own[order], received.tolist(), sent.tolist())
    returned = all_to_all_single(torch.empty_like(own), experts[rank](arrived), sent.tolist(), received.tolist())
    outputs = torch.zeros_like(own).index_copy(0, order, returned) * gates[:, None]
    outputs.square().sum().backward()
    return len(arrived), outputs, own.grad


# %%
torch.manual_seed(0)
tokens = torch.randn(4, 64, 16)
run = run_ranks(send_to_experts, 4, tokens=tokens)
for rank, (arrived, _, _) in enumerate(run.returned):
    print(f"rank {rank}: {arrived} tokens arrived, put in {[size for _, _, size in run.traffic[rank].events]} bytes")

router, experts = make_ranked_experts(4)
alone = tokens.flatten(0, 1).requires_grad_()
gates, choices = router(alone).softmax(dim=1).max(dim=1)
outputs = torch.stack([expert(alone) for expert in experts])[choices, torch.arange(256)] * gates[:, None]
outputs.square().sum().backward()
for name, whole, place in (("outputs", outputs, 1), ("gradients", alone.grad, 2)):
    parts = torch.cat([returned[place] for returned in run.returned])
    print(f"{name}: off by at most {(parts - whole).abs().max():.1e} from one process")

# %% [markdown]
# There are five all-to-alls: the numbers, the tokens, the results, and both ways again for the gradients. A rank puts
# its own 64 tokens into two of them, 64 x 16 x 4 bytes, whatever the router does. In the two others it returns what
# arrived, so the rank with the most popular expert sends the most, and also computes the longest: the others wait for
# it. A capacity limits that, at the price of dropped tokens.

# %% [markdown]
# ## Further: a job
#
# A mixture of ten experts in each layer answers well, but it is too large to serve. A dense **base** of the same shape
# is in a file, and does not answer like it yet. You have to fit the base, on a device that holds the mixture as well.
#
# Everything that you hold in addition to the teacher and the batches must fit into 62 % of the bytes that the base's
# matrices take in float32. Training all of them with AdamW would take more than 400 %. How well the result answers is
# judged, too. You may use everything that you have learnt in lessons 20 to 23, and in the earlier Parts.

# %% tags=["given"]
import bitsandbytes
from peft import LoraConfig, get_peft_model

from grader import check_tight_job, make_tight_job

# %% [markdown]
# **Exercise.** Fit the base within its budget.
#
# *Contract.*
# - Iterating over `weights` reads the matrices of the base, float32 [width, width], one after the other, once.
# - `assemble(layers)` builds the classifier, an `nn.Module`. Each layer maps [rows, width] to the same shape; those of
#   the base compute `rows @ matrix.T`.
# - Return the classifier. It answers without the teacher. Keep everything on `device`.
#
# The check measures the peak, and on other rows the mean KL from the teacher's distribution: at most 0.2 times that of
# the base as it is read.


# %% exercise="fit_within"
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    """Fit a base to a teacher, holding at most so many bytes in addition to teacher and batches.

    Args:
        weights: Iterator over matrices [width, width], in the order of the layers.
        assemble: Takes a list of layers, returns a module that maps rows to logits.
        teacher: Maps rows [rows, width] to logits [rows, classes]; in eval mode, with parameters that need gradients.
        batches: Rows [rows, width] and labels [rows], the teacher's best class, on the device.
        budget_bytes: The most that may be held, the returned module included.

    Returns:
        The classifier.
    """

    ### BEGIN SOLUTION
    def store(weight):
        layer = bitsandbytes.nn.Linear4bit(*weight.shape, bias=False, quant_type="nf4")
        layer.load_state_dict({"weight": weight})
        return layer.to(device)

    thin = LoraConfig(r=4, lora_alpha=4, target_modules=r"layers\.\d+")
    student = get_peft_model(assemble([store(weight) for weight in weights]), thin)
    optimizer = torch.optim.AdamW([part for part in student.parameters() if part.requires_grad], lr=3e-3)
    for rows, _ in batches:
        with torch.no_grad():
            wanted = teacher(rows).softmax(dim=1)
        F.kl_div(student(rows).log_softmax(dim=1), wanted, reduction="batchmean").backward()
        optimizer.step()
        optimizer.zero_grad()
    return student
    ### END SOLUTION


# %%
def show_job():
    job = make_tight_job()
    teacher, batches = job.make_teacher(), job.make_batches()

    def fit(some):
        return fit_within(job.read_weights(), job.assemble, teacher, some, job.budget_bytes)

    peak = measure_peak_memory(lambda: fit(batches[:3]), model=teacher, inputs=batches)
    student, rows = fit(batches), job.held_out()
    with torch.no_grad():
        answers, wanted = student(rows).log_softmax(dim=1), teacher(rows).softmax(dim=1)
    print(f"held {format_bytes(peak.above_entry_bytes)}, budget {format_bytes(job.budget_bytes)}")
    print(f"mean KL from the teacher: {F.kl_div(answers, wanted, reduction='batchmean'):.3f}")


look(show_job)

# %% check="check_tight_job" points=2
check_tight_job(fit_within)

# %% [markdown] tags=["hint"]
# <details><summary>Hint</summary>
# First: list what is held while one batch is trained, each item in bytes for each number of the base. Which items are
# proportional to the base, and which need not be?<br>
# Then: what does each lesson of this Part make smaller, and at which moment does your code still hold it whole? A
# variable that a loop leaves behind counts, too.
# </details>

# %% [markdown]
# **Recap.** Answer, then unfold.
#
# <details><summary>Which costs follow the total, and which the active parameters?</summary>
# Memory follows the total: weights, gradients, optimizer state. FLOPs follow the active parameters.
# </details>
# <details><summary>Which values does the balance loss have for a uniform and for a collapsed router?</summary>
# 1 for uniform shares and probabilities, E for a router that always chooses the same one of E experts, and is sure of
# it.
# </details>
# <details><summary>What happens to a token that no expert has room for?</summary>
# The layer adds nothing to it. The residual connection carries it to the next layer unchanged.
# </details>
#
# **Takeaway: experts buy parameters without FLOPs, pay with memory, and have to be kept in balance.**
#
# Your points so far: run `grader.scorecard()` after `import grader`.

# %% [markdown]
# **Sources**
# - [Fedus, Zoph and Shazeer, Switch Transformers][switch]: one expert per token, the balance loss, the capacity factor.
# - [Du et al., GLaM][glam]: experts in every other layer.
# - [Jiang et al., Mixtral of Experts][mixtral]: 8 experts, 2 of them per token.
# - [DeepSeek-AI, DeepSeek-V3][deepseek]: the bias that balances without a loss.
# - [Rajbhandari et al., DeepSpeed-MoE][deepspeed]: training and inference, and experts distilled into smaller models.
# - [Hugging Face, Mixtral][transformers]: `output_router_logits` and `router_aux_loss_coef`.
#
# [switch]: https://arxiv.org/abs/2101.03961
# [glam]: https://arxiv.org/abs/2112.06905
# [mixtral]: https://arxiv.org/abs/2401.04088
# [deepseek]: https://arxiv.org/abs/2412.19437
# [deepspeed]: https://arxiv.org/abs/2201.05596
# [transformers]: https://huggingface.co/docs/transformers/model_doc/mixtral
