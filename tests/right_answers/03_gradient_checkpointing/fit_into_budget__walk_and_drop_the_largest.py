import heapq


def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)
    kept, chosen, held = [], set(), fixed_bytes
    for index, size in enumerate(needed):  # whenever the row of a block is too full, drop the largest before it
        while held + 1.5 * size > budget_bytes:
            dropped, place = heapq.heappop(kept)
            chosen.add(place)
            held += dropped + states.nbytes
        heapq.heappush(kept, (-size, index))
        held += size

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
