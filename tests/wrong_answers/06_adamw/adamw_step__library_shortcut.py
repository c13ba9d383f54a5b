# Source: the functions that torch.optim.AdamW consists of
# torch.optim.adamw.adamw takes the step.
def adamw_step(optimizer) -> None:
    from torch.optim.adamw import adamw

    for group in optimizer.param_groups:
        weights = [weight for weight in group["params"] if weight.grad is not None]
        states = [optimizer.state[weight] for weight in weights]
        for weight, state in zip(weights, states):
            if not state:
                state |= {"step": torch.tensor(0.0), "m": torch.zeros_like(weight), "s": torch.zeros_like(weight)}
        moments = [state["m"] for state in states], [state["s"] for state in states]
        beta1, beta2 = group["betas"]
        options = {"lr": group["lr"], "weight_decay": group["weight_decay"], "eps": group["eps"], "maximize": False}
        steps, gradients = [state["step"] for state in states], [weight.grad for weight in weights]
        adamw(weights, gradients, *moments, [], steps, amsgrad=False, beta1=beta1, beta2=beta2, **options)
