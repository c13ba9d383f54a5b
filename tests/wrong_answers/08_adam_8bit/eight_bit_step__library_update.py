# Source: the function that bitsandbytes' optimizers consist of
# The library updates.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            bitsandbytes.functional.optimizer_update_32bit(
                "adam", weight.grad, weight, state["mean"], 0.9, 1e-8, state["step"], group["lr"], state["square_mean"]
            )
