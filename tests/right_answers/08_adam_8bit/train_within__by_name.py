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
