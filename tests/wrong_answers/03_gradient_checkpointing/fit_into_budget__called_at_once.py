# Source: a likely slip: the function is called, not returned
# The output is returned in place of the function.
def fit_into_budget(blocks, inputs, budget_bytes):
    return run_segments(blocks, inputs, 1)
