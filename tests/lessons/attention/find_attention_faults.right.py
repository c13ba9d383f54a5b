# Right answers to find_attention_faults.

# %% answer="by_changes"
def find_attention_faults(attend):
    torch.manual_seed(1)
    query, key, value = (torch.randn(1, 2, 100, 8) for _ in range(3))
    other_key, other_value = key.clone(), value.clone()
    other_key[..., :10, :] += 1
    other_value[..., :10, :] += 100
    last = [attend(query, *pair, False)[..., -1, :] for pair in ((key, value), (other_key, other_value))]
    near = [tensor[..., :4, :] for tensor in (query, key, value)]
    sums = attend(query, key, torch.ones_like(value), True)
    exact = F.scaled_dot_product_attention(*near)

    def saved(time):
        inputs = [torch.randn(1, 1, time, 4, requires_grad=True) for _ in range(3)]
        return measure_saved_tensors(lambda: attend(*inputs, False)).total_bytes

    tests = {
        "window": torch.equal(*last),
        "scale": (attend(*near, False) - exact).abs().max() > 1e-3,
        "mask_after_softmax": (sums - 1).abs().max() > 1e-3,
        "matrix_kept": saved(400) / saved(200) > 3,
    }
    return {name for name, holds in tests.items() if holds}


# %% answer="by_shapes"
def find_attention_faults(attend):
    long = [torch.randn(1, 1, 300, 4, requires_grad=True) for _ in range(3)]
    kept = measure_saved_tensors(lambda: attend(*long, True)).rows
    faults = ["matrix_kept"] if any(row.shape[-2:] == (300, 300) for row in kept) else []
    with torch.no_grad():
        zero = torch.zeros(1, 1, 300, 4)
        where = torch.arange(300.0).view(1, 1, 300, 1).expand(1, 1, 300, 4)
        if attend(zero, zero, where, False)[0, 0, 0, 0] < 149:  # equal scores: the mean of what is seen
            faults.append("window")
        if attend(zero, zero, zero + 1, True)[0, 0, 0, 0] < 0.9:
            faults.append("mask_after_softmax")
        query = torch.ones(1, 1, 2, 4)
        key = torch.tensor([[1.0] * 4, [0.0] * 4]).view(1, 1, 2, 4)  # scores 4 and 0, scaled 2 and 0
        share = attend(query, key, key, False)[0, 0, 0, 0]
        if abs(share - torch.sigmoid(torch.tensor(2.0))) > 1e-3:
            faults.append("scale")
    return faults


# %% answer="sets_joined"
def find_attention_faults(attend):
    def window():
        value = torch.zeros(1, 1, 64, 8)
        value[..., 0, :] = 1.0
        return not attend(torch.zeros_like(value), torch.zeros_like(value), value, False)[..., -1, :].any()

    def scale():
        few = [torch.randn(1, 1, 2, 8) for _ in range(3)]
        return not torch.allclose(attend(*few, False), eager_attention(*few), atol=1e-5)

    def mask_after_softmax():
        few = [torch.randn(1, 1, 3, 8), torch.randn(1, 1, 3, 8), torch.ones(1, 1, 3, 8)]
        return not torch.allclose(attend(*few, True), few[2], atol=1e-5)

    def matrix_kept():
        saved = [measure_saved_tensors(lambda t=t: attend(*draw(1, 1, t, 4), False)).total_bytes for t in (128, 256)]
        return saved[1] >= 3 * saved[0]

    return {test.__name__ for test in (window, scale, mask_after_softmax, matrix_kept) if test()}
