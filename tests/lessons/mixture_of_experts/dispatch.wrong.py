# Wrong answers to dispatch.
# Not here: hard_coded, because outputs of random experts are nothing to write down.
# Not here: library_shortcut, because no library that this course uses has an entry point for capacities.

# %% answer="plain_baseline" code="nothing_dropped"
# Source: the dense loop over all experts
def dispatch(tokens, gates, experts, capacity_factor):
    return sum(gates[:, place, None] * expert(tokens) for place, expert in enumerate(experts))


# %% answer="copied_from_lesson" code="nothing_dropped"
# Source: the loop of the lesson's layer, which has no capacity
def dispatch(tokens, gates, experts, capacity_factor):
    outputs = torch.zeros_like(tokens)
    for place, expert in enumerate(experts):
        (rows,) = torch.where(gates[:, place] > 0)
        outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
    return outputs


# %% answer="dense_with_a_mask" code="all_tokens_through_all_experts"
# Source: every expert on all tokens, and zeros for what is not taken
def dispatch(tokens, gates, experts, capacity_factor):
    is_sent = gates > 0
    capacity = math.ceil(capacity_factor * is_sent.sum().item() / len(experts))
    kept = gates * (is_sent & (is_sent.cumsum(dim=0) <= capacity))
    return sum(kept[:, place, None] * expert(tokens) for place, expert in enumerate(experts))


# %% answer="token_by_token" code="one_call_per_token"
# Source: a loop over tokens
def dispatch(tokens, gates, experts, capacity_factor):
    capacity = math.ceil(capacity_factor * (gates > 0).sum().item() / len(experts))
    room, outputs = [capacity] * len(experts), []
    for token, row in zip(tokens, gates, strict=True):
        output = torch.zeros_like(token)
        for place, expert in enumerate(experts):
            if row[place] > 0 and room[place]:
                room[place] -= 1
                output = output + row[place] * expert(token[None])[0]
        outputs.append(output)
    return torch.stack(outputs)


# %% edit="computed_first" code="dropped_tokens_computed"
# Source: the outputs are cut in place of the rows
# -         rows = torch.where(gates[:, place] > 0)[0][:capacity]
# -         if len(rows):
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +         rows = torch.where(gates[:, place] > 0)[0]
# +         if len(rows):
# +             computed = expert(tokens[rows])[:capacity]
# +             rows = rows[:capacity]
# +             outputs = outputs.index_add(0, rows, gates[rows, place, None] * computed)

# %% edit="rounded_down" code="capacity_rounded_down"
# Source: int() for a size
# -     capacity = math.ceil(capacity_factor * choices / len(experts))
# +     capacity = int(capacity_factor * choices / len(experts))

# %% edit="tokens_counted" code="capacity_of_the_tokens"
# Source: the formula of a layer with one expert per token
# -     capacity = math.ceil(capacity_factor * choices / len(experts))
# +     capacity = math.ceil(capacity_factor * len(tokens) / len(experts))

# %% edit="no_factor" code="capacity_without_its_factor"
# Source: the factor is forgotten
# -     capacity = math.ceil(capacity_factor * choices / len(experts))
# +     capacity = math.ceil(choices / len(experts))

# %% edit="last_ones" code="last_tokens_taken"
# Source: a slice from the wrong end
# -         rows = torch.where(gates[:, place] > 0)[0][:capacity]
# +         rows = torch.where(gates[:, place] > 0)[0][-capacity:]

# %% edit="best_ones" code="largest_gates_taken"
# Source: priority by gate, as in V-MoE
# -         rows = torch.where(gates[:, place] > 0)[0][:capacity]
# +         count = int((gates[:, place] > 0).sum())
# +         rows = gates[:, place].topk(min(capacity, count)).indices

# %% edit="renormalised" code="gates_renormalised_after_drops"
# Source: the gates of a token should add up to 1 again
# -     for place, expert in enumerate(experts):
# -         rows = torch.where(gates[:, place] > 0)[0][:capacity]
# +     is_kept = (gates > 0) & ((gates > 0).cumsum(dim=0) <= capacity)
# +     gates = gates * is_kept / (gates * is_kept).sum(dim=1, keepdim=True).clamp(min=1e-30)
# +     for place, expert in enumerate(experts):
# +         rows = torch.where(gates[:, place] > 0)[0]

# %% edit="no_gates" code="gates_not_multiplied"
# Source: the gate is forgotten
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_add(0, rows, expert(tokens[rows]))

# %% edit="gated_inputs" code="gates_on_the_input"
# Source: the gate on the token
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_add(0, rows, expert(gates[rows, place, None] * tokens[rows]))

# %% edit="residual_inside" code="dropped_tokens_returned"
# Source: dropped tokens pass through the layer
# -     return outputs
# +     is_kept = (gates > 0) & ((gates > 0).cumsum(dim=0) <= capacity)
# +     return torch.where(is_kept.any(dim=1, keepdim=True), outputs, tokens)

# %% edit="overwritten" code="last_expert_wins"
# Source: index_copy in place of index_add
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_copy(0, rows, gates[rows, place, None] * expert(tokens[rows]))

# %% edit="detached" code="gates_without_gradient"
# Source: gates as numbers
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_add(0, rows, gates[rows, place, None].detach() * expert(tokens[rows]))

# %% edit="padded" code="padded_to_the_capacity"
# Source: fixed shapes, as in frameworks for TPUs
# -         if len(rows):
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +         room = torch.cat([tokens[rows], tokens.new_zeros(capacity - len(rows), tokens.shape[1])])
# +         outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(room)[: len(rows)])

# %% edit="least_room" code="smallest_capacity"
# Source: min_capacity of DeepSpeed
# -     capacity = math.ceil(capacity_factor * choices / len(experts))
# +     capacity = max(4, math.ceil(capacity_factor * choices / len(experts)))

# %% edit="threshold" code="small_gates_ignored"
# Source: a threshold against noise
# -         rows = torch.where(gates[:, place] > 0)[0][:capacity]
# +         rows = torch.where(gates[:, place] > 0.01)[0][:capacity]

# %% edit="share_first" code="rounded_twice"
# Source: the balanced share as a whole number
# -     capacity = math.ceil(capacity_factor * choices / len(experts))
# +     capacity = math.ceil(capacity_factor * math.ceil(choices / len(experts)))

# %% edit="wrong_gate" code="place_taken_for_the_row"
# Source: gates by the place in the list
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_add(0, rows, gates[: len(rows), place, None] * expert(tokens[rows]))

# %% edit="forward_called" code="experts_not_called"
# Source: the name of the method in the expert's class
# -             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert(tokens[rows]))
# +             outputs = outputs.index_add(0, rows, gates[rows, place, None] * expert.forward(tokens[rows]))
