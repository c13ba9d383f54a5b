# Source: the published use: the whole net wrapped once
# All blocks are in one checkpoint.
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: checkpoint(blocks, states, use_reentrant=False)
