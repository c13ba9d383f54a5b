# Source: transformers' order of operations
# Both factors are reciprocal roots; the gradient is multiplied.
def adafactor_step(optimizer) -> None:
    def rms(tensor):
        return tensor.norm(2) / tensor.numel() ** 0.5

    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, gradient = optimizer.state[weight], weight.grad
            state["step"] = state.get("step", 0) + 1
            rate = group["lr"] * (max(1e-3, rms(weight)) if group["scale_parameter"] else 1.0)
            beta = 1.0 - state["step"] ** group["decay_rate"]
            squares = gradient**2 + group["eps"]
            if gradient.dim() >= 2:
                state["row"] = beta * state.get("row", 0) + (1 - beta) * squares.mean(dim=-1)
                state["column"] = beta * state.get("column", 0) + (1 - beta) * squares.mean(dim=-2)
                row = (state["row"] / state["row"].mean(dim=-1, keepdim=True)).rsqrt().unsqueeze(-1)
                update = row * state["column"].rsqrt().unsqueeze(-2) * gradient
            else:
                state["whole"] = beta * state.get("whole", 0) + (1 - beta) * squares
                update = state["whole"].rsqrt() * gradient
            update.div_((rms(update) / group["clip_threshold"]).clamp_(min=1.0))
            weight.add_(weight, alpha=-float(group["weight_decay"] * rate))
            weight.add_(-rate * update)
