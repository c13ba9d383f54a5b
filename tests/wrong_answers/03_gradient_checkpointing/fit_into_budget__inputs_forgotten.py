# Source: a likely slip: a checkpoint is taken to keep nothing
# Interiors are counted, and no input of a block.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, boundaries, states = [], [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        boundaries.append(states.nbytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def peak(chosen):
        inner = [size - boundary for size, boundary in zip(needed, boundaries)]
        kept = [0 if index in chosen else size for index, size in enumerate(inner)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(inner))

    for count in range(len(needed)):
        chosen = min(combinations(range(len(needed)), count), key=peak)
        if peak(chosen) <= budget_bytes:
            break

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
