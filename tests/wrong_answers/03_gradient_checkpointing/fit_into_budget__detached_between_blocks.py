# Source: a likely slip: detach frees the graph of the blocks before
# Each block's input is detached, and only the last block learns.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        for block in blocks:
            states = block(states.detach())
        return states

    return run
