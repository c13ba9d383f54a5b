# Wrong answers to make_streamed_step.
# Not here: hard_coded, because weights after an unseen update cannot be written down.
# Not here: copied_from_lesson, because the lesson shows no other step.

# %% answer="plain_baseline" code="nothing_sent"
# Source: AdamW with its state on the device
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    return torch.optim.AdamW(parameters, lr=0.01, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1).step


# %% edit="state_on_device" code="nothing_sent"
# Source: chunks, with their moments in a dictionary
# -                 first, second = [torch.zeros_like(weight) if one is None else far.get(one) for one in kept]
# +                 first, second = [torch.zeros_like(weight) if one is None else one for one in kept]
# ...
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[index, place] = first, second


# %% answer="device_copies_kept" code="state_served_from_device"
# Source: state copied, and the device copy kept
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    near, away, counts = {}, {}, [0] * len(parameters)

    @torch.no_grad()
    def step():
        for index, parameter in enumerate(parameters):
            if parameter.grad is None:
                continue
            counts[index] += 1
            pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
            for place, (weight, gradient) in enumerate(pieces):
                key = index, place
                moments = near.get(key, [torch.zeros_like(weight), torch.zeros_like(weight)])
                update(weight, gradient, *moments, counts[index])
                away[key], near[key] = [far.put(one) for one in moments], [one.clone() for one in moments]

    return step


# %% edit="put_only_once" code="state_not_written_back"
# Source: fetched, changed and forgotten
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 if kept[0] is None:
# +                     state[index, place] = far.put(torch.zeros_like(first)), far.put(torch.zeros_like(second))


# %% edit="counted_in_the_inner_loop" code="counted_for_each_chunk"
# Source: the line one level too deep
# -             counts[index] += 1
# ...
# -             for place, (weight, gradient) in enumerate(pieces):
# +             for place, (weight, gradient) in enumerate(pieces):
# +                 counts[index] += 1


# %% edit="one_count" code="one_count_for_all"
# Source: one step count for the optimizer
# -             if parameter.grad is None:
# -                 continue
# -             counts[index] += 1
# +             counts[index] += 1
# +             if parameter.grad is None:
# +                 continue


# %% edit="none_is_zero" code="missing_gradient_as_zero"
# Source: zero_grad(set_to_none=False)
# -                 continue
# +                 parameter.grad = torch.zeros_like(parameter)


# %% edit="copies_updated" code="nothing_updated"
# Source: flatten and clone, to be safe
# -             pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
# +             pieces = zip(parameter.clone().view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)


# %% edit="whole_chunks_only" code="tail_left_out"
# Source: numel // chunk
# -             for place, (weight, gradient) in enumerate(pieces):
# +             for place, (weight, gradient) in enumerate(pieces):
# +                 if len(weight) < chunk:
# +                     continue


# %% edit="whole_parameters" code="chunk_too_large"
# Source: a parameter at a time
# -             pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
# +             pieces = [(parameter.view(-1), parameter.grad.view(-1))]


# %% edit="every_copy_kept" code="old_copies_kept"
# Source: a list of all states
# -     state, counts = {}, [0] * len(parameters)
# +     state, counts, history = {}, [0] * len(parameters), []
# ...
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[index, place] = far.put(first), far.put(second)
# +                 history.append(state[index, place])


# %% answer="all_fetched_first" code="state_kept_on_device"
# Source: fetch, step, send, for the whole state
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    away, counts = {}, [0] * len(parameters)

    @torch.no_grad()
    def step():
        near = {
            key: [far.get(one) for one in pair] for key, pair in away.items() if parameters[key[0]].grad is not None
        }
        for index, parameter in enumerate(parameters):
            if parameter.grad is None:
                continue
            counts[index] += 1
            pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
            for place, (weight, gradient) in enumerate(pieces):
                pair = near.setdefault((index, place), [torch.zeros_like(weight), torch.zeros_like(weight)])
                update(weight, gradient, *pair, counts[index])
        for key, pair in near.items():
            away[key] = [far.put(one, old) for one, old in zip(pair, away.get(key, (None, None)), strict=True)]

    return step


# %% edit="key_by_shape" code="moments_shared"
# Source: a dictionary of buffers by shape
# -                 kept = state.get((index, place), (None, None))
# +                 kept = state.get((parameter.shape, place), (None, None))
# ...
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[parameter.shape, place] = far.put(first, kept[0]), far.put(second, kept[1])


# %% edit="key_by_parameter" code="moments_of_another_chunk"
# Source: optimizer.state, which has one entry for a parameter
# -                 kept = state.get((index, place), (None, None))
# +                 kept = state.get(index, (None, None))
# ...
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[index] = far.put(first), far.put(second)


# %% edit="counted_after" code="counted_from_zero"
# Source: enumerate
# -                 update(weight, gradient, first, second, counts[index])
# +                 update(weight, gradient, first, second, counts[index] - 1)


# %% edit="one_zeros" code="one_tensor_for_both"
# Source: first = second = zeros
# -                 first, second = [torch.zeros_like(weight) if one is None else far.get(one) for one in kept]
# +                 first = second = torch.zeros_like(weight)
# +                 if kept[0] is not None:
# +                     first, second = map(far.get, kept)


# %% edit="cached" code="last_moments_kept"
# Source: an attribute for inspection
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 step.last = first, second


# %% edit="state_in_advance" code="zeros_sent_early"
# Source: state made with the optimizer
# -     state, counts = {}, [0] * len(parameters)
# +     state, counts = {}, [0] * len(parameters)
# +     for index, parameter in enumerate(parameters):
# +         for place, piece in enumerate(parameter.detach().view(-1).split(chunk)):
# +             state[index, place] = far.put(torch.zeros_like(piece)), far.put(torch.zeros_like(piece))


# %% edit="own_formula" code="update_never_called"
# Source: the update of the lesson, called by its own name
# -                 update(weight, gradient, first, second, counts[index])
# +                 adamw_update(weight, gradient, first, second, counts[index])


# %% edit="cut_by_count" code="other_chunks"
# Source: torch.chunk
# -             pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
# +             pieces = zip(parameter.view(-1).chunk(chunk), parameter.grad.view(-1).chunk(chunk), strict=True)


# %% edit="gradient_cloned" code="whole_copies"
# Source: a clone, to be safe
# -             pieces = zip(parameter.view(-1).split(chunk), parameter.grad.view(-1).split(chunk), strict=True)
# +             pieces = zip(parameter.view(-1).split(chunk), parameter.grad.clone().view(-1).split(chunk), strict=True)

# %% edit="whole_moments_for_each_chunk" code="fetched_too_often"
# Source: one far tensor for each moment of a parameter, as an optimizer's state has them
#               for place, (weight, gradient) in enumerate(pieces):
# -                 kept = state.get((index, place), (None, None))
# -                 first, second = [torch.zeros_like(weight) if one is None else far.get(one) for one in kept]
# -                 update(weight, gradient, first, second, counts[index])
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 kept = state.get(index, (None, None))
# +                 first, second = [torch.zeros(parameter.numel()) if one is None else far.get(one) for one in kept]
# +                 own = slice(place * chunk, (place + 1) * chunk)
# +                 update(weight, gradient, first[own], second[own], counts[index])
# +                 state[index] = far.put(first, kept[0]), far.put(second, kept[1])

# %% edit="second_moment_stays" code="sent_too_little"
# Source: half of the state, to save transfers
#                   kept = state.get((index, place), (None, None))
# -                 first, second = [torch.zeros_like(weight) if one is None else far.get(one) for one in kept]
# +                 first = torch.zeros_like(weight) if kept[0] is None else far.get(kept[0])
# +                 second = torch.zeros_like(weight) if kept[1] is None else kept[1]
#                   update(weight, gradient, first, second, counts[index])
# -                 state[index, place] = far.put(first, kept[0]), far.put(second, kept[1])
# +                 state[index, place] = far.put(first, kept[0]), second
