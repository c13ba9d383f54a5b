# Source: the quantizer of the exercise before in the step
# A second moment becomes 0, and epsilon alone divides.
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
                    state[name] = _nearest(moments[name], book)


def _nearest(values, book):
    scales = torch.nn.functional.pad(values.flatten(), (0, -values.numel() % 256)).view(-1, 256).abs().amax(dim=1)
    scale_of_each = scales.repeat_interleave(256)[: values.numel()].view(values.shape)
    scaled = torch.where(scale_of_each > 0, values / scale_of_each, torch.zeros_like(values))
    return torch.bucketize(scaled, (book[1:] + book[:-1]) / 2).to(torch.uint8), scales
