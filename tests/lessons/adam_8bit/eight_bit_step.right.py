# %% answer="class_for_a_moment"
# Source: an object that opens and closes itself
class Moment:
    def __init__(self, weight, book):
        self.book = book if weight.numel() >= 4096 else None
        self.state = {}
        self.write(torch.zeros_like(weight))

    def read(self):
        if self.book is None:
            return self.state["exact"]
        return decode_blocks(self.state["codes"], self.state["scales"], self.book)

    def write(self, values):
        if self.book is None:
            self.state["exact"] = values
        else:
            self.state["codes"], self.state["scales"] = encode_blocks(values, self.book)


def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                moments = [Moment(weight, SIGNED), Moment(weight, UNSIGNED)]
                state |= {"step": 0, "moments": moments, "tensors": [moment.state for moment in moments]}
            state["step"] += 1
            mean, square_mean = (moment.read() for moment in state["moments"])
            adamw_update(weight, weight.grad, mean, square_mean, state["step"], group)
            for moment, values in zip(state["moments"], (mean, square_mean), strict=True):
                moment.write(values)


# %% answer="flat_state"
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


# %% answer="other_arithmetic"
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
