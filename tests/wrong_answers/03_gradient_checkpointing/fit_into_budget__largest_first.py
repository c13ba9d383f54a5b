# Source: a likely slip: the largest block is taken to save the most
# The largest blocks are checkpointed until their sizes add up.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)
    order = sorted(range(len(needed)), key=lambda index: -needed[index])
    chosen = []
    while fixed_bytes + sum(needed) - sum(needed[index] for index in chosen) > budget_bytes:
        chosen.append(order[len(chosen)])

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
