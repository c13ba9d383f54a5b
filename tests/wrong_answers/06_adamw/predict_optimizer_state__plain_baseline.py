# Source: plain SGD, which has no state
# No optimizer is given any state.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    return 0
