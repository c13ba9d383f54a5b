# Source: a likely slip: range without the first block
# The first block is left out of the run.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        states = blocks[0](states)
        for block in blocks[1:-1]:
            states = checkpoint(block, states, use_reentrant=False)
        return states

    return run
