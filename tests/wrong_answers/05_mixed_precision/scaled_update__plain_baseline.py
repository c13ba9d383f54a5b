# Source: the update of a float32 loop
# The optimizer steps on whatever is in .grad.
def scaled_update(scaler, optimizer) -> None:
    optimizer.step()
