# %% answer="plain_baseline" code="accumulation_ignored"
# Source: the plain update of lesson 01, without micro-batches
# The whole batch is taken to run at once, whatever k is.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    end_of_forward = parameter_bytes + state_bytes + activation_bytes
    update = 2 * parameter_bytes + state_bytes
    return max(end_of_forward, update)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Four peaks seen once stand for a formula.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    if k == 4:
        return 96_788_736
    if k == 2:
        return 58_988_160
    return 99_076_032 if activation_bytes > parameter_bytes else 75_601_152


# %% answer="copied_from_lesson" code="peak_measured"
# Source: the lesson's own cell, which meters an update of its chain
# The peak of one model and one batch is taken for that of every job.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    return measure_peak_memory(**make_update(256, k)).peak_bytes


# %% answer="only_activations_shrink" code="accumulated_gradients_forgotten"
# Source: the lesson's opening question, as most people answer it
# The gradients of earlier micro-batches are forgotten while the next one runs forward.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    fixed_bytes = parameter_bytes + state_bytes
    return fixed_bytes + max(activation_bytes // k, gradient_bytes)


# %% answer="activations_whole" code="activations_not_divided"
# Source: a likely mistake: the argument is used as it comes
# The activations of the whole batch are taken to be held in addition to the accumulated gradients.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    accumulated_bytes = gradient_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes
    return max(end_of_forward, parameter_bytes + state_bytes + gradient_bytes)


# %% answer="four_kinds_added" code="all_kinds_added"
# Source: the recall question of the lesson: one training step holds four kinds of memory
# All four kinds are taken to be held at one moment.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    return parameter_bytes + gradient_bytes + state_bytes + activation_bytes // k


# %% answer="everything_divided" code="everything_divided"
# Source: a likely mistake: k micro-batches are taken to need one k-th of the memory
# All four kinds are taken to shrink with the micro-batch.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    return (parameter_bytes + gradient_bytes + state_bytes + activation_bytes) // k


# %% answer="update_only" code="forward_forgotten"
# Source: Hugging Face, Model memory anatomy: a number of bytes for each parameter
# Memory is counted for each parameter; activations are left out.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    weights, gradients = parameter_bytes, parameter_bytes
    return weights + gradients + state_bytes


# %% answer="gradients_divided" code="gradients_divided"
# Source: a likely mistake: the loss is divided by k, so the gradients are too
# Gradients are taken to shrink with the micro-batch.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes // k
    accumulated_bytes = gradient_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    return max(end_of_forward, parameter_bytes + state_bytes + gradient_bytes)


# %% answer="gradients_for_each" code="gradients_for_each_micro_batch"
# Source: a likely mistake: each backward() is taken to leave a tensor of its own
# Each earlier micro-batch is taken to leave gradients of its own.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = (k - 1) * parameter_bytes
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes / k
    update = parameter_bytes + state_bytes + k * parameter_bytes
    return int(max(end_of_forward, update))


# %% answer="no_gradients_at_all" code="gradients_forgotten"
# Source: a likely mistake: what holds for k = 1 at the end of the forward is written down for every k and every moment
# Gradients are taken never to be part of a peak.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    return parameter_bytes + state_bytes + activation_bytes // k


# %% answer="mebibytes" code="mebibytes_for_bytes"
# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = parameter_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    update = parameter_bytes + state_bytes + parameter_bytes
    return max(end_of_forward, update) // MIB


# %% answer="moments_added" code="moments_added"
# Source: a likely mistake: the two moments of the lesson, added
# Two moments that follow each other are taken to be one.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    accumulated_bytes = parameter_bytes if k > 1 else 0
    end_of_forward = parameter_bytes + state_bytes + accumulated_bytes + activation_bytes // k
    update = parameter_bytes + state_bytes + parameter_bytes
    return end_of_forward + update


# %% answer="state_of_adamw" code="state_assumed"
# Source: a likely mistake: the figures of the lesson all belong to AdamW
# The state is taken to be twice the parameters for every optimizer.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    state_bytes = 2 * parameter_bytes
    accumulated = parameter_bytes if k > 1 else 0
    return parameter_bytes + state_bytes + max(accumulated + activation_bytes // k, parameter_bytes)


# %% answer="no_state" code="state_forgotten"
# Source: a first iteration measured: AdamW makes its state in the first step
# The optimizer state is forgotten.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes
    micro_batch_bytes = activation_bytes // k
    if k == 1:
        return parameter_bytes + max(gradient_bytes, micro_batch_bytes)
    return parameter_bytes + gradient_bytes + micro_batch_bytes


# %% answer="forward_only" code="update_forgotten"
# Source: a likely mistake: the first line of the lesson's table alone
# The peak is taken to end a forward always; a small batch peaks during the update.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    gradient_bytes = parameter_bytes if k > 1 else 0
    return parameter_bytes + state_bytes + gradient_bytes + activation_bytes // k


# %% answer="waiting_from_three_on" code="gradients_from_k_3_on"
# Source: a likely mistake: an off-by-one in when gradients wait
# The second forward of k = 2 is taken to run without gradients.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    waiting = parameter_bytes if k > 2 else 0
    return parameter_bytes + state_bytes + max(waiting + activation_bytes // k, parameter_bytes)


# %% answer="no_parameters" code="parameters_forgotten"
# Source: a likely mistake: three of the four kinds
# Weights are taken to be held elsewhere.
def predict_peak_bytes(parameter_bytes: int, state_bytes: int, activation_bytes: int, k: int) -> int:
    waiting = parameter_bytes if k > 1 else 0
    return state_bytes + max(waiting + activation_bytes // k, parameter_bytes)
