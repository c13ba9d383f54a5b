# Source: PyTorch's own wrapper
# DistributedDataParallel is made and thrown away.
def synchronise_gradients(model) -> None:
    DistributedDataParallel(model)
