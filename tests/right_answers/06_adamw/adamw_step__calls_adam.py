# Source: the update of the exercise before, written again
# A function for Adam inside, and the decay before its call.
def adamw_step(optimizer) -> None:
    def update(weight, state, lr, betas, eps):
        state["step"] = state.get("step", 0) + 1
        state["mean"] = betas[0] * state.get("mean", 0) + (1 - betas[0]) * weight.grad
        state["square_mean"] = betas[1] * state.get("square_mean", 0) + (1 - betas[1]) * weight.grad.pow(2)
        first, second = (1 - beta ** state["step"] for beta in betas)
        weight.sub_(lr * state["mean"] / first / ((state["square_mean"] / second).sqrt() + eps))

    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                weight.sub_(weight, alpha=group["lr"] * group["weight_decay"])
                update(weight, optimizer.state[weight], group["lr"], group["betas"], group["eps"])
