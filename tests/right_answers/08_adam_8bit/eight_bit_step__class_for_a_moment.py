# Source: an object that opens and closes itself
# A class holds one moment.
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
