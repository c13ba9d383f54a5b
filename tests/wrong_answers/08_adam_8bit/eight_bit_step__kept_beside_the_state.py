# Source: a cache of float32 moments
# The optimizer keeps the float32 moments in an attribute.
def eight_bit_step(optimizer) -> None:
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
                optimizer.cache = vars(optimizer).get("cache", []) + [moments]
