# Wrong answers to peak_of_run.
# Not here: library_shortcut, because no library composes peaks, and the meters do not work inside the function.

# %% answer="plain_baseline" code="parts_all_added"
# Source: all parts added up, whenever they are held
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    total = parts.weights + parts.gradients + parts.state + parts.update + parts.copies
    if is_checkpointed:
        return total + rows * (parts.inputs + parts.layer_backward)
    return total + rows * parts.kept


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the peak of the first run, for every run
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    from grader.lessons.capstone.parts import run_cases

    first = run_cases(0)[0]
    return first.parts.weights + first.parts.state + first.rows * first.parts.kept


# %% answer="copied_from_lesson" code="gradients_always_waiting"
# Source: the table's column "gradients kept", for every run
def peak_of_run(parts, rows, micro_batches, is_checkpointed):
    held, waiting = parts.weights + parts.state, parts.gradients
    moments = [held + parts.gradients + parts.update]
    if is_checkpointed:
        moments.append(held + waiting + parts.copies + rows * (parts.inputs + parts.layer_forward))
        moments.append(held + waiting + rows * (parts.inputs + parts.layer_backward))
    else:
        moments.append(held + waiting + parts.copies + rows * parts.kept)
    return max(moments)


# %% edit="never_waiting" code="gradients_never_waiting"
# Source: gradients counted in the update alone
# -     waiting = parts.gradients if micro_batches > 1 else 0
# +     waiting = 0

# %% edit="for_each_micro_batch" code="gradients_of_each_micro_batch"
# Source: accumulation as a list of gradients
# -     waiting = parts.gradients if micro_batches > 1 else 0
# +     waiting = parts.gradients * (micro_batches - 1)

# %% edit="whole_batch" code="rows_of_all_micro_batches"
# Source: the rows of the update
# -     held = parts.weights + parts.state
# +     held, rows = parts.weights + parts.state, rows * micro_batches

# %% edit="no_update" code="update_forgotten"
# Source: the peak is where activations are
# -     moments = [held + parts.gradients + parts.update]
# +     moments = [held + parts.gradients]
# ...
# -     return max(moments)
# +     return max(moments[1:])

# %% edit="no_temporaries" code="temporaries_forgotten"
# Source: an update in place
# -     moments = [held + parts.gradients + parts.update]
# +     moments = [held + parts.gradients]

# %% edit="copies_all_the_time" code="copies_always_held"
# Source: a 16-bit model next to the float32 one
# -     held = parts.weights + parts.state
# +     held = parts.weights + parts.state + parts.copies
# ...
# -         moments.append(held + waiting + parts.copies + rows * (parts.inputs + parts.layer_forward))
# +         moments.append(held + waiting + rows * (parts.inputs + parts.layer_forward))
# ...
# -         moments.append(held + waiting + parts.copies + rows * parts.kept)
# +         moments.append(held + waiting + rows * parts.kept)

# %% edit="no_second_run" code="layer_run_again_forgotten"
# Source: checkpointing keeps inputs, and that is all
# -         moments.append(held + waiting + rows * (parts.inputs + parts.layer_backward))
# +         moments.append(held + waiting + rows * parts.inputs)
# -         moments.append(held + parts.gradients + rows * parts.layer_backward)
# +         moments.append(held + parts.gradients)

# %% edit="end_forgotten" code="first_layer_forgotten"
# Source: the backward pass is highest where it begins
# -         moments.append(held + parts.gradients + rows * parts.layer_backward)
# +         moments.append(held + parts.gradients)

# %% edit="gradients_too_early" code="all_gradients_at_the_last_layer"
# Source: all gradients exist in the whole backward pass
# -         moments.append(held + waiting + rows * (parts.inputs + parts.layer_backward))
# +         moments.append(held + parts.gradients + rows * (parts.inputs + parts.layer_backward))

# %% edit="running_layer" code="running_layer_of_the_forward_pass_forgotten"
# Source: inputs alone at the end of the forward pass
# -         moments.append(held + waiting + parts.copies + rows * (parts.inputs + parts.layer_forward))
# +         moments.append(held + waiting + parts.copies + rows * parts.inputs)

# %% edit="stateless" code="state_forgotten"
# Source: plain SGD
# -     held = parts.weights + parts.state
# +     held = parts.weights


# %% edit="last_layer_left_out" code="last_layer_forgotten"
# Source: only the end of the backward pass
# -         moments.append(held + waiting + rows * (parts.inputs + parts.layer_backward))


# %% edit="forward_left_out" code="forward_pass_forgotten"
# Source: "with checkpointing, the peak is in the backward pass"
# -         moments.append(held + waiting + parts.copies + rows * (parts.inputs + parts.layer_forward))


# %% edit="mebibytes" code="mebibytes_for_bytes"
# Source: the notebook's tables are in MiB
# -     return max(moments)
# +     return max(moments) / 2**20
