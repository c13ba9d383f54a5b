# Source: a likely slip: little work is taken for few blocks
# The set whose interiors have the fewest bytes.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def fits(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes

    inner = [size - states.nbytes for size in needed]
    sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
    chosen = min(filter(fits, sets), key=lambda chosen: sum(inner[index] for index in chosen))

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
