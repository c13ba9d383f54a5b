# Source: the square-root law, used where blocks differ
# Every second block begins a checkpoint of two.
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: run_segments(blocks, states, 3)
