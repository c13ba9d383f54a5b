# %% answer="adafactor"
# Source: lesson 07's optimizer in the backward
# Adafactor as the Trainer sets it.
def train_within(model, batches: list, budget_bytes: int) -> None:
    from transformers.optimization import Adafactor

    handles = []
    for parameter in model.parameters():
        hook = make_hook(Adafactor([parameter], lr=4e-3, scale_parameter=False, relative_step=False))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


# %% answer="by_name"
# Source: a dict of optimizers, partial
# Optimizers by parameter, hooks without a closure.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizers = {parameter: bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3) for parameter in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    handles = [parameter.register_post_accumulate_grad_hook(update) for parameter in optimizers]
    try:
        for batch in batches:
            model(*(tensor.to(device) for tensor in batch)).backward()
    finally:
        for handle in handles:
            handle.remove()


# %% answer="one_optimizer"
# Source: one optimizer that finds one gradient at a time
# All parameters in one 8-bit optimizer.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3, weight_decay=0.0)

    def update(_):
        optimizer.step()
        optimizer.zero_grad()

    handles = [parameter.register_post_accumulate_grad_hook(update) for parameter in model.parameters()]
    for words, topics in batches:
        loss = model(words.to(device), topics.to(device))
        loss.backward()
        del loss
    while handles:
        handles.pop().remove()


# %% answer="own_step"
# Source: the step of this lesson, written by hand
# Each parameter has an optimizer with the 8-bit step by hand.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(OwnOptimizer(_take_step, [parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update


def _take_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_large = optimizer.state[weight], weight.numel() >= 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(zeros, book) if is_large else zeros.clone()
            state["step"] += 1
            moments = {name: decode_blocks(*state[name], BOOKS[name]) if is_large else state[name] for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if is_large:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)
