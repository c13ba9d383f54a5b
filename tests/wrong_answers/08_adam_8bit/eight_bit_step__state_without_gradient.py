# Source: state made in front of the skip
# A tensor without gradient has a state.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            state, is_small = optimizer.state[weight], weight.numel() < 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = zeros.clone() if is_small else encode_blocks(zeros, book)
            if weight.grad is None:
                continue
            state["step"] += 1
            moments = {name: state[name] if is_small else decode_blocks(*state[name], BOOKS[name]) for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if not is_small:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)
