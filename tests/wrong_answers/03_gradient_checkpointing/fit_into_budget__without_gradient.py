# Source: a likely slip: no_grad saves the most memory
# No graph is made at all.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        with torch.no_grad():
            return blocks(states)

    return run
