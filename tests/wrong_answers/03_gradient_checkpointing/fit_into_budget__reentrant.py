# Source: older guides: use_reentrant=True
# Every checkpoint is reentrant: the parameters of the first block get no gradient.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def fits(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes

    sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
    chosen = next(filter(fits, sets))

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=True) if index in chosen else block(states)
        return states

    return run
