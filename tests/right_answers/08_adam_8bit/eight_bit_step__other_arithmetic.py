# Source: AdamW as the paper writes it
# The update is written out, with the books in the state.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        (beta1, beta2), lr = group["betas"], group["lr"]
        for weight in group["params"]:
            gradient = weight.grad
            if gradient is None:
                continue
            state, is_large = optimizer.state[weight], weight.numel() > 4095
            step = state["step"] = state.get("step", 0) + 1
            first = torch.zeros_like(weight) if step == 1 else _open(state["first"], SIGNED)
            second = torch.zeros_like(weight) if step == 1 else _open(state["second"], UNSIGNED)
            first = beta1 * first + (1 - beta1) * gradient
            second = beta2 * second + (1 - beta2) * gradient * gradient
            denominator = second.sqrt() + group["eps"] * (1 - beta2**step) ** 0.5
            size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
            weight.sub_(lr * group["weight_decay"] * weight).addcdiv_(first, denominator, value=-size)
            state["first"] = encode_blocks(first, SIGNED) if is_large else first
            state["second"] = encode_blocks(second, UNSIGNED) if is_large else second
            state["books"] = (SIGNED, UNSIGNED)


def _open(moment, book):
    return moment if torch.is_tensor(moment) else decode_blocks(*moment, book)
