# Right answers to peak_of_run.

# %% answer="timeline_of_events"
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    held = highest = parts.weights + parts.state
    for micro_batch in range(min(micro_batches, 2)):
        before = parts.gradients if micro_batch else 0
        kept = parts.inputs + parts.layer_forward if is_checkpointed else parts.kept
        highest = max(highest, held + before + parts.copies + rows * kept)
        if is_checkpointed:
            highest = max(highest, held + before + rows * (parts.inputs + parts.layer_backward))
            highest = max(highest, held + parts.gradients + rows * parts.layer_backward)
    return max(highest, held + parts.gradients + parts.update)


# %% answer="numpy_maximum"
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    import numpy

    waiting = (micro_batches != 1) * parts.gradients
    forward = rows * (parts.inputs + parts.layer_forward if is_checkpointed else parts.kept) + waiting + parts.copies
    last = is_checkpointed * (rows * (parts.inputs + parts.layer_backward) + waiting)
    first = parts.gradients + is_checkpointed * rows * parts.layer_backward
    return parts.weights + parts.state + numpy.max([forward, last, first, parts.gradients + parts.update])


# %% answer="mebibytes_in_between"
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    sizes = {name: value / 2**20 for name, value in vars(parts).items()}
    always = sizes["weights"] + sizes["state"]
    early = sizes["gradients"] if micro_batches >= 2 else 0.0
    update = sizes["gradients"] + max(sizes["update"], rows * sizes["layer_backward"] if is_checkpointed else 0.0)
    if is_checkpointed:
        forward = early + rows * sizes["inputs"]
        forward += max(sizes["copies"] + rows * sizes["layer_forward"], rows * sizes["layer_backward"])
    else:
        forward = early + sizes["copies"] + rows * sizes["kept"]
    return (always + max(forward, update)) * 2**20
