# Source: the order: update the moments, encode, decode, then move
# The weight moves by what the codes say.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_small = optimizer.state[weight], weight.numel() < 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = zeros.clone() if is_small else encode_blocks(zeros, book)
            state["step"] += 1
            moments = {name: state[name] if is_small else decode_blocks(*state[name], BOOKS[name]) for name in BOOKS}
            still = {**group, "lr": 0.0}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], still)
            if not is_small:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)
                    moments[name] = decode_blocks(*state[name], book)
            kept = {name: moment.clone() for name, moment in moments.items()}
            move = {**group, "betas": group["betas"]}
            beta1, beta2 = move["betas"]
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            root = (kept["square_mean"] / (1 - beta2 ** state["step"])).sqrt()
            weight.sub_(group["lr"] * kept["mean"] / (1 - beta1 ** state["step"]) / (root + group["eps"]))
