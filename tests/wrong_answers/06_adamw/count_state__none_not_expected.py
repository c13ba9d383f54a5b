# Source: the published function as it is, with elements first
# An entry that is None cannot become a tensor.
def count_state(optimizer) -> tuple[int, int]:
    total_bytes, total_num_elements = 0, 0
    for params in optimizer.state.values():
        for name, tensor in params.items():
            total_num_elements += tensor.numel()
            total_bytes += tensor.numel() * tensor.element_size()
    return total_num_elements, total_bytes
