# Source: state names of bitsandbytes
# Codes and scales are entries of their own, the step is a tensor.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in filter(lambda weight: weight.grad is not None, group["params"]):
            state = optimizer.state[weight]
            if not state:
                state["step"] = torch.zeros(())
                zeros = torch.zeros_like(weight)
                if weight.numel() < 4096:
                    state |= {"state1": zeros, "state2": zeros.clone()}
                else:
                    state["state1"], state["absmax1"] = encode_blocks(zeros, SIGNED)
                    state["state2"], state["absmax2"] = encode_blocks(zeros, UNSIGNED)
            state["step"] += 1
            step = int(state["step"])
            if weight.numel() < 4096:
                adamw_update(weight, weight.grad, state["state1"], state["state2"], step, group)
                continue
            mean = decode_blocks(state["state1"], state["absmax1"], SIGNED)
            square_mean = decode_blocks(state["state2"], state["absmax2"], UNSIGNED)
            adamw_update(weight, weight.grad, mean, square_mean, step, group)
            state["state1"], state["absmax1"] = encode_blocks(mean, SIGNED)
            state["state2"], state["absmax2"] = encode_blocks(square_mean, UNSIGNED)
