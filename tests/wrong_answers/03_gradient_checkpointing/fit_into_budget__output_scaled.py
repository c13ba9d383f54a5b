# Source: a likely slip: the output is averaged over the blocks
# The output is divided by the number of blocks.
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: blocks(states) / len(blocks)
