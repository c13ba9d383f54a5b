# Source: the options of the visible case
# Betas and epsilon are looked up by the number of groups and the decay.
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
            decayed = len(optimizer.param_groups) == 1 and group["weight_decay"] > 0
            known = {"betas": (0.9, 0.99), "eps": 1e-8} if decayed else OPTIONS.get(len(optimizer.param_groups), {})
            group = {**group, **known}
            moments = {name: state[name] if is_small else decode_blocks(*state[name], BOOKS[name]) for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if not is_small:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)


OPTIONS = {1: {"betas": (0.8, 0.97), "eps": 0.002}, 2: {"betas": (0.9, 0.95), "eps": 0.05}}
