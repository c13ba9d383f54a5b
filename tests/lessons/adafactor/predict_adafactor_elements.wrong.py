# %% answer="plain_baseline" code="adamw_for_all"
# Source: AdamW's count of lesson 06
# Two moments and a step count, whatever the library is.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    return sum(2 * tensor.numel() + 1 for tensor in parameters if tensor.requires_grad)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: answers of the visible seed, in the order of the calls
# The visible cases' numbers, one after the other.
visible_answers = [178_712, 178_608, 85_692, 19_481, 785_142, 1_267]


def predict_adafactor_elements(parameters: list, library: str) -> int:
    visible_answers.append(visible_answers.pop(0))
    return visible_answers[-1]


# %% answer="copied_from_lesson" code="numbers_of_distilbert"
# Source: the numbers of the lesson
# DistilBERT's numbers for every list.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    return {"torch": 178_608, "transformers": 178_712, "transformers with momentum": 65_961_754}[library]


# %% answer="library_shortcut" code="torch_optimizer_used"
# Source: a likely shortcut: let the optimizer count
def predict_adafactor_elements(parameters: list, library: str) -> int:
    optimizer = torch.optim.Adafactor(parameters) if library == "torch" else Adafactor(parameters)
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return optimizer_state_elements(optimizer)


# %% edit="bytes" code="bytes_for_elements"
# Source: lesson 06, where bytes are asked for
#               total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# -     return total
# +     return 4 * total

# %% edit="frozen_counted" code="frozen_counted"
# Source: a likely slip: requires_grad is not read
#       for tensor in parameters:
# -         if tensor.requires_grad:
# +         if tensor is not None:

# %% edit="no_gradient_yet" code="nothing_counted"
# Source: a likely slip: .grad for requires_grad
# No tensor has a .grad yet, so all are left out.
#       for tensor in parameters:
# -         if tensor.requires_grad:
# +         if tensor.grad is not None:

# %% edit="momentum_for_all" code="momentum_for_all"
# Source: a likely slip: the name of the library is not read
#               total += 1 if library == "torch" else 2
# -             total += tensor.numel() if library == "transformers with momentum" else 0
# +             total += tensor.numel()

# %% edit="momentum_left_out" code="momentum_left_out"
# Source: a likely slip
#               total += 1 if library == "torch" else 2
# -             total += tensor.numel() if library == "transformers with momentum" else 0

# %% edit="rms_left_out" code="one_number_of_transformers"
# Source: PyTorch's count for both libraries
# The RMS of transformers is left out.
#           if tensor.requires_grad:
# -             total += 1 if library == "torch" else 2
# +             total += 1

# %% edit="rms_in_torch" code="rms_in_torch"
# Source: transformers' count for both libraries
#           if tensor.requires_grad:
# -             total += 1 if library == "torch" else 2
# +             total += 2

# %% edit="steps_left_out" code="steps_left_out"
# Source: a likely slip: only the means and the RMS
#           if tensor.requires_grad:
# -             total += 1 if library == "torch" else 2
# +             total += 0 if library == "torch" else 1

# %% edit="scalars_once" code="scalars_once"
# Source: a likely misconception: one step count for the model
# Step count and RMS are counted once for all tensors.
# -     total = 0
# +     total = 1 if library == "torch" else 2
# ...
#           if tensor.requires_grad:
# -             total += 1 if library == "torch" else 2

# %% edit="one_matrix_of_the_stack" code="one_matrix_of_the_stack"
# Source: a likely slip: shape[-2] + shape[-1]
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor.shape[-2] + tensor.shape[-1] if is_matrix else tensor.numel()

# %% edit="first_two_sides" code="first_two_sides"
# Source: a likely slip: shape[0] + shape[1]
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor.shape[0] + tensor.shape[1] if is_matrix else tensor.numel()

# %% edit="stack_flattened" code="stack_flattened"
# Source: a convolution as a matrix of output channels
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor.shape[0] + tensor.numel() // tensor.shape[0] if is_matrix else tensor.numel()

# %% edit="stack_not_factored" code="stack_not_factored"
# Source: a likely slip: dim() == 2
#               total += tensor.numel() if library == "transformers with momentum" else 0
# -             is_matrix = tensor.dim() > 1
# +             is_matrix = tensor.dim() == 2

# %% edit="whole_second_moment" code="not_factored"
# Source: AdamW's second moment
#               total += tensor.numel() if library == "transformers with momentum" else 0
# -             is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor.numel()

# %% edit="product_kept" code="product_kept"
# Source: a likely misconception: the estimate is state
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor.numel() if is_matrix else 0

# %% edit="rows_only" code="rows_only"
# Source: a likely slip
# Column means are left out.
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor[..., 0].numel() if is_matrix else tensor.numel()

# %% edit="vector_as_one_number" code="vector_as_one_number"
# Source: a likely misconception: a vector has one mean
#               is_matrix = tensor.dim() > 1
# -             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else tensor.numel()
# +             total += tensor[..., 0].numel() + tensor[..., 0, :].numel() if is_matrix else 1

# %% edit="list_changed" code="parameters_changed"
# Source: a likely slip: a filter written into the list
# Frozen tensors are removed from the list that the function receives.
# -     total = 0
# +     total = 0
# +     parameters[:] = [tensor for tensor in parameters if tensor.requires_grad]

# %% edit="int_not_counted" code="numbers_of_transformers_left_out"
# Source: an int is no tensor
#           if tensor.requires_grad:
# -             total += 1 if library == "torch" else 2
# +             total += 1 if library == "torch" else 0

# %% edit="momentum_of_both" code="momentum_for_all"
# Source: "transformers" in library
#               total += 1 if library == "torch" else 2
# -             total += tensor.numel() if library == "transformers with momentum" else 0
# +             total += tensor.numel() if "transformers" in library else 0
