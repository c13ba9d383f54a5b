# Wrong answers to predict_step_peak.

# %% edit="plain_baseline" code="all_kinds_added"
# Source: a table of bytes for each parameter, added up
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + activations + gradients)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the peaks of the visible case, written down
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    seen = {130: 32075776, 11: 24355584, 753: 90817788, 265: 1483282080}
    return seen[min(seen, key=lambda rows: abs(rows - batch))]


# %% answer="copied_from_lesson" code="outputs_of_blocks_only"
# Source: the inputs of the chain, taken for what each block keeps
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    activations = blocks * batch * width
    return 4 * (3 * parameters + batch * width + max(activations, parameters))


# %% answer="library_shortcut" code="peak_measured"
# Source: the meter of the lesson
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    return measure_peak_memory(**make_step(blocks, width, hidden, batch)).peak_bytes


# %% edit="update_only" code="backward_forgotten"
# Source: 16 bytes for each parameter, the rule for AdamW
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + gradients)


# %% edit="backward_only" code="update_forgotten"
# Source: the peak is where backward begins
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + activations)


# %% edit="first_step" code="first_iteration"
# Source: the first update, which has no state when backward begins
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + batch * width + max(activations, gradients + state))


# %% edit="gradients_never_freed" code="all_kinds_added"
# Source: zero_grad() of before PyTorch 2.0, which kept gradients
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + max(activations + gradients, gradients))


# %% edit="momentum" code="two_of_three_counted"
# Source: SGD with momentum
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters
# +     state = parameters


# %% edit="no_state" code="state_forgotten"
# Source: model and gradients only
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters
# +     state = 0


# %% edit="gelu_in_place" code="one_hidden_activation"
# Source: GELU is thought to keep nothing
#       state = 2 * parameters
# -     activations = blocks * batch * (width + 2 * hidden)  # the inputs of Linear, GELU, Linear
# +     activations = blocks * batch * (width + hidden)


# %% edit="inputs_and_outputs" code="outputs_counted_twice"
# Source: each layer's inputs and outputs listed
#       state = 2 * parameters
# -     activations = blocks * batch * (width + 2 * hidden)  # the inputs of Linear, GELU, Linear
# +     activations = blocks * batch * (2 * width + 2 * hidden)


# %% edit="one_weight" code="one_weight_for_each_block"
# Source: a block taken for one Linear
# -     parameters = blocks * (2 * width * hidden + width + hidden)
# +     parameters = blocks * (width * hidden + width + hidden)
#       state = 2 * parameters


# %% edit="in_mib" code="another_unit_for_bytes"
# Source: the unit in which the lesson prints
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + max(activations, gradients)) / MIB


# %% edit="numbers" code="elements_for_bytes"
# Source: numbers counted
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return parameters + state + batch * width + max(activations, gradients)


# %% edit="threshold" code="threshold_of_the_lesson"
# Source: the rows at which the lesson's chain changes from one moment to the other
#       gradients = parameters
# -     return 4 * (parameters + state + batch * width + max(activations, gradients))
# +     return 4 * (parameters + state + batch * width + (activations if batch > 228 else gradients))


# %% answer="number_of_the_lesson" code="same_for_all_chains"
# Source: the peak that the lesson measures, written down
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    return 121 * 2**20
