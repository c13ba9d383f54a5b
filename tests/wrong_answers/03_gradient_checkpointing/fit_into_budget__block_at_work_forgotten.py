# Source: a likely slip: a block in a checkpoint is taken to hold nothing
# The block at work is not counted.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def peak(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) for index, _ in enumerate(needed))

    for count in range(len(needed)):
        chosen = min(combinations(range(len(needed)), count), key=peak)
        if peak(chosen) <= budget_bytes:
            break

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
