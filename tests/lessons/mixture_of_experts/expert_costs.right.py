# Right answers to expert_costs.

# %% answer="block_by_block"
def expert_costs(layers, every, width, hidden, experts, chosen):
    total = active = 0
    for block in range(1, layers + 1):
        attention, part = 4 * width**2, 2 * width * hidden
        if block % every:
            total, active = total + attention + part, active + attention + part
        else:
            total += attention + experts * (width + part)
            active += attention + experts * width + chosen * part
    return dict(total=total, active=active, bytes=4 * 4 * total, flops=(2 + 4) * active)


# %% answer="on_the_meta_device"
def expert_costs(layers, every, width, hidden, experts, chosen):
    def count(*shapes):
        return sum(torch.empty(shape, device="meta").numel() for shape in shapes)

    part = count((hidden, width), (width, hidden))
    dense = count(*[(width, width)] * 4)
    sparse = layers // every
    shared = layers * dense + (layers - sparse) * part + sparse * count((experts, width))
    sizes = [shared + sparse * number * part for number in (experts, chosen)]
    return {"flops": 6 * sizes[1], "bytes": 16 * sizes[0], "active": sizes[1], "total": sizes[0]}


# %% answer="floats"
def expert_costs(layers, every, width, hidden, experts, chosen):
    part, sparse = 2.0 * width * hidden, float(layers // every)
    shared = layers * 4.0 * width**2 + (layers - sparse) * part + sparse * experts * width
    total, active = shared + sparse * experts * part, shared + sparse * chosen * part
    return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
