# Right answers to train_1f1b.


# %% answer="three_phases"
# Warm-up, steady state and cool-down, as in Megatron-LM.
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    is_last, waiting = rank == world_size - 1, []

    def forward(number):
        hidden = inputs[number] if rank == 0 else receive(rank - 1)
        hidden.requires_grad_(rank > 0)
        output = stage(hidden)
        waiting.append((hidden, F.mse_loss(output, targets[number]) / micro_batches if is_last else output))
        return output

    def backward(gradient):
        hidden, output = waiting.pop(0)
        torch.autograd.backward(output, gradient)
        if rank > 0:
            send(hidden.grad, rank - 1)

    warm_up = min(world_size - rank - 1, micro_batches)
    for number in range(warm_up):
        send(forward(number), rank + 1)
    for number in range(warm_up, micro_batches):
        output = forward(number)
        gradient = None if is_last else receive(rank + 1)
        if not is_last:
            send(output, rank + 1)
        backward(gradient)
    for _ in range(warm_up):
        backward(receive(rank + 1))


# %% answer="odd_ranks_receive_first"
# Even ranks send first, odd ranks receive first.
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    ahead, kept = min(world_size - 1 - rank, micro_batches), {}
    for step in range(micro_batches + ahead):
        is_sending, output = step < micro_batches and rank < world_size - 1, None
        if step < micro_batches:
            hidden = inputs[step] if rank == 0 else receive(rank - 1).requires_grad_()
            output = stage(hidden)
            kept[step] = hidden, output
        oldest = step - ahead
        gradient = None
        if oldest >= 0 and rank < world_size - 1:
            gradient = receive(rank + 1)
        if is_sending:
            send(output.detach(), rank + 1)
        if oldest >= 0:
            hidden, output = kept.pop(oldest)
            if gradient is None:
                (F.mse_loss(output, targets[oldest]) / micro_batches).backward()
            else:
                output.backward(gradient)
            if rank > 0:
                send(hidden.grad, rank - 1)


# %% answer="scaled_gradient"
# The division is in the gradient that starts the backward.
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    from collections import deque

    is_last, waiting = rank == world_size - 1, deque()
    order = []
    ahead = min(world_size - 1 - rank, micro_batches)
    for number in range(micro_batches + ahead):
        order += ["forward"] * (number < micro_batches) + ["backward"] * (number >= ahead)
    forwards, unsent = 0, []
    for name in order:
        if name == "forward":
            hidden = receive(rank - 1) if rank else inputs[forwards]
            hidden = hidden.detach().requires_grad_()
            output = stage(hidden)
            if is_last:
                output = F.mse_loss(output, targets[forwards])
            elif forwards < ahead:
                send(output, rank + 1)
            else:
                unsent.append(output)
            waiting.append((hidden, output))
            forwards += 1
        else:
            gradient = torch.tensor(1 / micro_batches) if is_last else receive(rank + 1)
            for output in unsent:
                send(output, rank + 1)
            unsent.clear()
            hidden, output = waiting.popleft()
            output.backward(gradient)
            if rank:
                send(hidden.grad, rank - 1)


# %% answer="names_of_their_own"
# The forward and the backward of a round have their own names, so the last finished micro-batch is still referred to.
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    is_last, queue = rank == world_size - 1, []
    ahead = min(world_size - 1 - rank, micro_batches)
    for step in range(micro_batches + ahead):
        new_output = gradient = None
        if step < micro_batches:
            new_hidden = receive(rank - 1).requires_grad_() if rank else inputs[step]
            new_output = stage(new_hidden)
            if is_last:
                new_output = F.mse_loss(new_output, targets[step]) / micro_batches
            queue.append((new_hidden, new_output))
        if step >= ahead and not is_last:
            gradient = receive(rank + 1)
        if new_output is not None and not is_last:
            send(new_output, rank + 1)
        if step >= ahead:
            old_hidden, old_output = queue.pop(0)
            old_output.backward(gradient)
            if rank:
                send(old_hidden.grad, rank - 1)
