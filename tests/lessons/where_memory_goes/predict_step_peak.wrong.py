# %% answer="plain_baseline" code="backward_forgotten"
# Source: Hugging Face, Model memory anatomy: a number of bytes for each parameter
# 16 bytes for each parameter: weights, gradients, two moments.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    return 16 * parameters


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Four peaks seen once stand for a formula.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    if blocks == 1:
        return 3_478_940
    if hidden > 4 * width:
        return 17_815_112
    return 36_361_096 if batch > width else 27_153_408


# %% answer="copied_from_lesson" code="peak_measured"
# Source: the lesson's own cell, which meters the step of its chain
# The peak is measured and not predicted.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    return measure_peak_memory(**make_step(blocks, width, hidden, batch)).peak_bytes


# %% answer="library_shortcut" code="peak_forecast"
# Source: the lesson's later cells, which forecast a job with fake tensors
# The peak is forecast and not predicted; it is summed up from the four kinds of the forecast.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    from grader import forecast_peak_memory

    def job():
        model = make_chain(blocks, width, hidden)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        inputs = torch.zeros(batch, width)

        def step():
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    peak = forecast_peak_memory(job, operators="cpu")
    return (
        peak.parameter_bytes
        + peak.gradient_bytes
        + peak.optimizer_state_bytes
        + peak.activation_bytes
        + peak.other_bytes
    )


# %% edit="one_block" code="activations_of_one_block"
# Source: the activations of a block, without the number of blocks
#       held_always = parameters + state + batch * width
# -     activations = blocks * batch * (2 * hidden + width)
# +     activations = batch * (2 * hidden + width)


# %% edit="no_buffers" code="all_buffers_forgotten"
# Source: the four kinds of memory alone
# Temporary buffers are left out at both moments.
#       activations = blocks * batch * (2 * hidden + width)
# -     backward_buffers = batch * hidden + width * hidden + width + 2
# -     update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     return 4 * (held_always + max(activations, parameters))


# %% edit="all_kinds_added" code="all_kinds_added"
# Source: the sum of a training job's four kinds of memory, as most guides give it
# Gradients and activations are taken to be alive together: no moment is picked.
#       backward_buffers = batch * hidden + width * hidden + width + 2
# -     update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     gradients = parameters
# +     return 4 * (held_always + gradients + activations + backward_buffers)


# %% edit="biases_left_out" code="biases_forgotten"
# Source: the rule of thumb for a linear layer: rows times columns
# Weights are counted, biases are not.
# -     parameters = blocks * (2 * width * hidden + width + hidden)
# +     parameters = blocks * (2 * width * hidden)
#       state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors


# %% edit="foreach" code="buffers_for_all_parameters"
# Source: PyTorch's default on CUDA, where AdamW updates all tensors at once (foreach)
# The buffers of the update are taken to be as large as all parameters.
#       backward_buffers = batch * hidden + width * hidden + width + 2
# -     update_buffers = 2 * width * hidden + hidden
# +     update_buffers = 2 * parameters


# %% edit="elements" code="elements_for_bytes"
# Source: the table's elements are added up and returned
# The factor of four bytes is forgotten.
#       update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     return max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)


# %% answer="first_iteration" code="first_iteration"
# Source: a first iteration metered: AdamW makes its state in optimizer.step()
# The state is taken to exist in the update only.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (2 * width * hidden + width + hidden)
    gradients, state = parameters, 2 * parameters + 4 * blocks
    inputs = batch * width
    activations = blocks * batch * (2 * hidden + width)
    backward_buffers = batch * hidden + width * hidden + width + 2
    update_buffers = 2 * width * hidden + hidden
    when_backward_begins = parameters + inputs + activations + backward_buffers
    in_update = parameters + inputs + gradients + state + update_buffers
    return 4 * max(when_backward_begins, in_update)


# %% edit="gelu_like_relu" code="gelu_input_forgotten"
# Source: a block with ReLU, whose output tells its slope
# One tensor [batch, hidden] is taken to be kept for a block.
#       held_always = parameters + state + batch * width
# -     activations = blocks * batch * (2 * hidden + width)
# +     activations = blocks * batch * (hidden + width)


# %% edit="gradients_zeroed_in_place" code="gradients_held_in_backward"
# Source: PyTorch before 2.0: zero_grad(set_to_none=False) was the default
# Gradients are taken to stay, as zeros, while forward and backward run.
#       update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     gradients = parameters
# +     when_backward_begins = held_always + gradients + activations + backward_buffers
# +     in_update = held_always + gradients + update_buffers
# +     return 4 * max(when_backward_begins, in_update)


# %% answer="four_widths" code="hidden_taken_for_four_widths"
# Source: Vaswani et al. 2017: the inner layer has four times the width
# hidden is taken to be 4 x width, as in every chain of the lesson.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    parameters = blocks * (8 * width**2 + 5 * width)
    held_always = parameters + 2 * parameters + 4 * blocks + batch * width
    activations = blocks * batch * 9 * width
    backward_buffers = batch * 4 * width + 4 * width**2 + width + 2
    update_buffers = 8 * width**2 + 4 * width
    return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)


# %% edit="input_forgotten" code="input_forgotten"
# Source: the input belongs to nobody in the list of four kinds
# The input is left out.
#       state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
# -     held_always = parameters + state + batch * width
# +     held_always = parameters + state


# %% edit="mebibytes" code="mebibytes_for_bytes"
# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
#       update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers) / MIB


# %% edit="moments_added" code="moments_added"
# Source: the peak as the sum of all that the step ever holds
# Two moments that follow each other are added.
#       update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     return 4 * (held_always + activations + backward_buffers) + 4 * (held_always + parameters + update_buffers)


# %% edit="one_moment" code="one_copy_missing"
# Source: the state is taken to have the size of the parameters
# One moment instead of two; the step counters are there.
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
# +     state = parameters + 4 * blocks


# %% edit="momentum_only" code="one_moment_only"
# Source: SGD with momentum, which keeps one number for each parameter
# One moment instead of two, and no step counters.
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
# +     state = parameters


# %% edit="one_update_buffer" code="one_update_buffer"
# Source: sqrt() and the division are taken to share a tensor
# One buffer as large as a weight instead of two.
#       backward_buffers = batch * hidden + width * hidden + width + 2
# -     update_buffers = 2 * width * hidden + hidden
# +     update_buffers = width * hidden + hidden


# %% edit="no_step_counters" code="step_counters_forgotten"
# Source: the usual formula for AdamW: two numbers for each parameter
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
# +     state = 2 * parameters


# %% edit="powers" code="too_large"
# Source: ** for *
# A power in place of a product.
# -     parameters = blocks * (2 * width * hidden + width + hidden)
# +     parameters = blocks * (2 * width**hidden + width + hidden)
#       state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors


# %% edit="peak_ends_the_forward" code="update_forgotten"
# Source: a rule of thumb: memory is highest when the forward ends
# The update is never looked at; a small batch peaks there.
#       backward_buffers = batch * hidden + width * hidden + width + 2
# -     update_buffers = 2 * width * hidden + hidden
# -     return 4 * max(held_always + activations + backward_buffers, held_always + parameters + update_buffers)
# +     return 4 * (held_always + activations + backward_buffers)


# %% edit="two_pieces_left_out" code="several_pieces"
# Source: two likely slips in one answer
# The input and the step counters are forgotten.
#       parameters = blocks * (2 * width * hidden + width + hidden)
# -     state = 2 * parameters + 4 * blocks  # two moments, and one step counter for each of a block's four tensors
# -     held_always = parameters + state + batch * width
# +     state = 2 * parameters
# +     held_always = parameters + state
