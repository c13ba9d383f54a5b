# Source: the published checkpoint, whose faults are written down
# The three published faults are named for every checkpoint.
def find_faults(checkpoint):
    return {"parameter_gradients", "random_state", "input_without_gradient"}
