# Source: a likely slip: the keys of the state are tensors too
# The parameters are counted, and their state is not.
def count_state(optimizer) -> tuple[int, int]:
    parameters = list(optimizer.state)
    return sum(parameter.numel() for parameter in parameters), sum(parameter.nbytes for parameter in parameters)
