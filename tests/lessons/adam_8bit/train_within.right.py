# %% edit="adafactor"
# Source: lesson 07's optimizer in the backward
# -         make_optimizer = torch.optim.AdamW if is_table else bitsandbytes.optim.AdamW8bit
# -         handles.append(parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter], lr=4e-3))))
# +         from transformers.optimization import Adafactor
# +
# +         optimizer = Adafactor([parameter], lr=4e-3, scale_parameter=False, relative_step=False)
# +         handles.append(parameter.register_post_accumulate_grad_hook(make_hook(optimizer)))


# %% answer="one_optimizer"
# Source: one optimizer that finds one gradient at a time, with an override
def train_within(model, batches: list, budget_bytes: int) -> None:
    keep_embeddings_in_32_bits(model)
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
    manager.initialize()


# %% answer="by_name"
# Source: a dict of optimizers, found by the parameter
def train_within(model, batches: list, budget_bytes: int) -> None:
    def make(name, parameter):
        kind = torch.optim.AdamW if "embedding" in name else bitsandbytes.optim.AdamW8bit
        return kind([parameter], lr=4e-3)

    optimizers = {parameter: make(name, parameter) for name, parameter in model.named_parameters()}

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
