# Source: names mixed up
# Each moment has the other's code book.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_small = optimizer.state[weight], weight.numel() < 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in zip(OTHER, reversed(BOOKS.values())):
                    state[name] = zeros.clone() if is_small else encode_blocks(zeros, book)
            state["step"] += 1
            moments = {
                name: state[name] if is_small else decode_blocks(*state[name], BOOKS[OTHER[name]]) for name in BOOKS
            }
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if not is_small:
                for name, book in zip(OTHER, reversed(BOOKS.values())):
                    state[name] = encode_blocks(moments[name], book)


OTHER = {"mean": "square_mean", "square_mean": "mean"}
