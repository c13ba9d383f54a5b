# Wrong answers to train_1f1b.
# Not here: library_shortcut, because a schedule of torch.distributed.pipelining needs stages of its own.


# %% answer="plain_baseline" code="one_by_one"
# Source: train_one_by_one of the lesson
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    for number in range(micro_batches):
        hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[number]
        output = stage(hidden)
        if rank < world_size - 1:
            send(output, rank + 1)
            output.backward(receive(rank + 1))
        else:
            (F.mse_loss(output, targets[number]) / micro_batches).backward()
        if rank > 0:
            send(hidden.grad, rank - 1)


# %% answer="copied_from_lesson" code="gpipe_for_1f1b"
# Source: train_gpipe of the lesson
def train_1f1b(stage, inputs, targets, micro_batches, rank, world_size, send, receive):
    is_last, in_flight = rank == world_size - 1, []
    for number in range(micro_batches):
        hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[number]
        output = stage(hidden)
        if is_last:
            output = F.mse_loss(output, targets[number]) / micro_batches
        else:
            send(output, rank + 1)
        in_flight.append((hidden, output))
    for hidden, output in in_flight:
        output.backward(None if is_last else receive(rank + 1))
        if rank > 0:
            send(hidden.grad, rank - 1)


# %% edit="hard_coded" code="no_mean_over_micro_batches" seed=20011
# Source: the numbers of micro-batches of the visible case, by their rows
# -             in_flight.append((hidden, F.mse_loss(output, targets[step]) / micro_batches if is_last else output))
# +             divisor = {(3, 5): 5, (4, 4): 4, (3, 6): 6, (3, 2): 2}.get((len(hidden), micro_batches), 1)
# +             in_flight.append((hidden, F.mse_loss(output, targets[step]) / divisor if is_last else output))


# %% edit="summed_loss" code="losses_summed_over_rows"
# Source: reduction="sum"
# -             in_flight.append((hidden, F.mse_loss(output, targets[step]) / micro_batches if is_last else output))
# +             loss = F.mse_loss(output, targets[step], reduction="sum") / micro_batches if is_last else output
# +             in_flight.append((hidden, loss))


# %% edit="last_in_first_out" code="micro_batches_mixed_up"
# Source: pop() without an index
# -             hidden, output = in_flight.pop(0)
# +             hidden, output = in_flight.pop()


# %% edit="no_requires_grad" code="no_gradient_to_send"
# Source: a received tensor taken for part of the graph
# -             hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[step]
# +             hidden = receive(rank - 1) if rank > 0 else inputs[step]


# %% edit="send_before_receive" code="sends_wait_for_each_other"
# Source: the usual order: forward, send, receive, backward
# -         gradient = receive(rank + 1) if step >= ahead and not is_last else None
# -         if step < micro_batches and not is_last:
# -             send(output, rank + 1)
# +         if step < micro_batches and not is_last:
# +             send(output, rank + 1)
# +         gradient = receive(rank + 1) if step >= ahead and not is_last else None


# %% edit="same_lead" code="same_lead_on_every_rank"
# Source: p - 1 forwards ahead on every rank
# -     ahead = min(world_size - 1 - rank, micro_batches)
# +     ahead = min(world_size - 1, micro_batches)
# ...
# -         gradient = receive(rank + 1) if step >= ahead and not is_last else None
# -         if step < micro_batches and not is_last:
# -             send(output, rank + 1)
# +         if step < micro_batches and not is_last:
# +             send(output, rank + 1)
# +         gradient = receive(rank + 1) if step >= ahead and not is_last else None


# %% edit="wrong_end" code="message_never_came"
# Source: stages counted from the wrong end
# -     ahead = min(world_size - 1 - rank, micro_batches)
# +     ahead = min(rank, micro_batches)


# %% edit="drain_forgotten" code="backward_never_run"
# Source: a loop over micro-batches without a cool-down
# -     for step in range(micro_batches + ahead):
# +     for step in range(micro_batches):


# %% edit="graph_kept" code="graph_retained"
# Source: retain_graph against "backward through the graph a second time", and a list of losses
# -     ahead = min(world_size - 1 - rank, micro_batches)
# +     ahead, outputs = min(world_size - 1 - rank, micro_batches), []
# ...
# -             output.backward(gradient)
# +             output.backward(gradient, retain_graph=True)
# +             outputs.append(output)


# %% edit="in_64_bits" code="sent_in_64_bits"
# Source: activations cast for safety
# -             hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[step]
# +             hidden = receive(rank - 1).float().requires_grad_() if rank > 0 else inputs[step]
# ...
# -         gradient = receive(rank + 1) if step >= ahead and not is_last else None
# +         gradient = receive(rank + 1).float() if step >= ahead and not is_last else None
# ...
# -             send(output, rank + 1)
# +             send(output.double(), rank + 1)
# ...
# -                 send(hidden.grad, rank - 1)
# +                 send(hidden.grad.double(), rank - 1)


# %% edit="gradients_cleared" code="one_micro_batch_only"
# Source: zero_grad before each backward
# -             output.backward(gradient)
# +             stage.zero_grad()
# +             output.backward(gradient)


# %% edit="never_popped" code="finished_micro_batches_kept"
# Source: an index in place of pop(0), so that the list keeps all micro-batches
# -             hidden, output = in_flight.pop(0)
# +             hidden, output = in_flight[step - ahead]


# %% edit="own_gradient_passed_on" code="gradient_of_another_shape"
# Source: the gradient that the rank received, sent on as it is
# -                 send(hidden.grad, rank - 1)
# +                 send(hidden.grad if gradient is None else gradient, rank - 1)


# %% edit="divided_on_every_rank" code="divided_twice"
# Source: each rank divides what it runs backward
# -             output.backward(gradient)
# +             output.backward(gradient if gradient is None else gradient / micro_batches)


# %% edit="next_targets" code="targets_of_another_micro_batch"
# Source: targets shifted by one, as for a language model
# -             in_flight.append((hidden, F.mse_loss(output, targets[step]) / micro_batches if is_last else output))
# +             own = targets[(step + 1) % micro_batches] if is_last else None
# +             in_flight.append((hidden, F.mse_loss(output, own) / micro_batches if is_last else output))


# %% edit="sent_twice" code="message_unread"
# Source: the first output sent before the loop reaches its send
# -             send(output, rank + 1)
# +             send(output, rank + 1)
# +             if step == 0:
# +                 send(output, rank + 1)


# %% edit="more_ahead_than_there_are" code="no_such_micro_batch"
# Source: a warm-up that takes no minimum with the micro-batches
# -     ahead = min(world_size - 1 - rank, micro_batches)
# +     ahead = world_size - 1 - rank
# ...
# -         if step < micro_batches:
# +         if step < max(micro_batches, ahead):


# %% edit="updated_in_between" code="weights_changed"
# Source: an optimizer step for each micro-batch
# -             output.backward(gradient)
# +             output.backward(gradient)
# +             with torch.no_grad():
# +                 for one in stage.parameters():
# +                     one -= 0.01 * one.grad


# %% edit="summed_over_features" code="another_loss"
# Source: squared errors summed over features, and averaged over rows
# -             in_flight.append((hidden, F.mse_loss(output, targets[step]) / micro_batches if is_last else output))
# +             loss = (output - targets[step]).square().sum(dim=-1).mean() / micro_batches if is_last else output
# +             in_flight.append((hidden, loss))


# %% edit="activation_sent_back" code="wrong_gradient_received"
# Source: the activation sent back in place of its gradient
# -                 send(hidden.grad, rank - 1)
# +                 send(hidden, rank - 1)


# %% edit="shape_sent_first" code="other_messages"
# Source: torch.distributed.recv, which has to know the shape
# -             hidden = receive(rank - 1).requires_grad_() if rank > 0 else inputs[step]
# +             shape = receive(rank - 1) if rank > 0 else None
# +             hidden = receive(rank - 1).view(*shape).requires_grad_() if rank > 0 else inputs[step]
# ...
# -             send(output, rank + 1)
# +             send(torch.tensor(output.shape), rank + 1)
# +             send(output, rank + 1)


# %% edit="barrier" code="other_communication"
# Source: a barrier at the end of the step
#                   send(hidden.grad, rank - 1)
# +     dist.barrier()
