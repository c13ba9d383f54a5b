# Source: the plain model
# Nothing is checkpointed.
def fit_into_budget(blocks, inputs, budget_bytes):
    return blocks
