# Source: the published function of the bug hunt, with the order and the unit repaired
# Numbers count, shared tensors count each time, and all is copied.
def count_state(optimizer) -> tuple[int, int]:
    total_bytes, total_num_elements = 0, 0
    for params in optimizer.state.values():
        for name, tensor in params.items():
            if tensor is None or isinstance(tensor, str):
                continue
            tensor = tensor.clone() if torch.is_tensor(tensor) else torch.tensor(tensor)
            total_num_elements += tensor.numel()
            total_bytes += tensor.numel() * tensor.element_size()
    return total_num_elements, total_bytes
