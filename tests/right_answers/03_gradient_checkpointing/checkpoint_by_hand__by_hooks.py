def checkpoint_by_hand(block, inputs):
    state, count, again = read_random_state(), 0, []

    def pack(tensor):
        nonlocal count
        count += 1
        return count - 1

    def unpack(number):
        if not again:
            collect = torch.autograd.graph.saved_tensors_hooks(
                lambda tensor: again.append(tensor.detach()), lambda tensor: tensor
            )
            with torch.enable_grad(), random_state(state), collect:
                block(inputs.detach().requires_grad_(inputs.requires_grad))
        tensor, again[number] = again[number], None
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return block(inputs)
