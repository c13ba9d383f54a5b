# %% edit="plain_baseline" code="not_factored"
# Source: the whole second moment of the lesson
# All numbers are kept.
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     state.setdefault("mean", torch.zeros_like(gradient)).mul_(beta).add_(squares, alpha=1 - beta)
# +     return state["mean"].clone()


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the options of the visible seed
# decay_rate and eps are those of the visible cases.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    decay_rate = -0.8 if decay_rate == -0.8 else -0.6
    eps = 1e-30 if eps < 1e-20 else 2e-05
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)
    return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)


# %% edit="copied_from_lesson" code="stack_not_expected"
# Source: the lesson's estimate, called with running means of dimensions 1 and 0
# One matrix is right, a stack is no matrix.
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     state["row"].mul_(beta).add_(squares.mean(dim=1), alpha=1 - beta)
# +     state["column"].mul_(beta).add_(squares.mean(dim=0), alpha=1 - beta)
# +     return state["row"][:, None] * state["column"][None, :] / state["row"].mean()

# %% edit="library_shortcut" code="library_used"
# Source: transformers' own product
# A method of transformers' Adafactor does it.
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return Adafactor._approx_sq_grad(state["row"], state["column"]).pow(-2)

# %% edit="column_not_kept" code="columns_not_kept"
# Source: a likely slip: a local name for the column means
#       state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# +     column = state["column"] * beta + squares.mean(dim=-2) * (1 - beta)
#       row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return row_share.unsqueeze(-1) * column.unsqueeze(-2)

# %% edit="current_squares" code="current_squares_only"
# Source: a likely slip: the state is not used
# The means of this step alone.
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     row, column = squares.mean(dim=-1, keepdim=True), squares.mean(dim=-2, keepdim=True)
# +     return row / row.mean(dim=-2, keepdim=True) * column

# %% edit="decay_constant" code="decay_constant"
# Source: AdamW's constant beta2
# beta is 0.999.
#       state["step"] += 1
# -     beta = 1 - state["step"] ** decay_rate
# +     beta = 0.999

# %% edit="decay_of_adam" code="decay_of_adam"
# Source: AdamW's constant beta2, with its correction
# beta is 0.999, and the mean is corrected.
#       state["step"] += 1
# -     beta = 1 - state["step"] ** decay_rate
# +     beta = 0.999
# ...
#       row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2) / (1 - beta ** state["step"])

# %% edit="decay_rate_fixed" code="decay_rate_not_read"
# Source: the default of the paper, written out
# -0.8 whatever decay_rate is.
#       state["step"] += 1
# -     beta = 1 - state["step"] ** decay_rate
# +     beta = 1 - state["step"] ** -0.8

# %% edit="divided_by_sum" code="divided_by_sum"
# Source: the formula of the paper, with means
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# +     row_share = state["row"] / state["row"].sum(dim=-1, keepdim=True)

# %% edit="squares_anew" code="epsilon_left_out"
# Source: a likely slip: the gradient is squared again
# eps is left out.
#       beta = 1 - state["step"] ** decay_rate
# -     squares = gradient.square() + eps
# +     squares = gradient.square()

# %% edit="gradient_squared_in_place" code="gradient_changed"
# Source: a likely slip: square_()
#       beta = 1 - state["step"] ** decay_rate
# -     squares = gradient.square() + eps
# +     squares = gradient.square_() + eps


# %% answer="state_outside" code="means_kept_outside"
# Source: a global dictionary
kept_means = {}


def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    row, column = kept_means.setdefault(
        gradient.shape, (torch.zeros_like(state["row"]), torch.zeros_like(state["column"]))
    )
    row.mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    column.mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    return (row / row.mean(dim=-1, keepdim=True)).unsqueeze(-1) * column.unsqueeze(-2)


# %% edit="not_divided" code="not_divided"
# Source: a published slide, with means
# Row mean times column mean, not divided.
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# +     row_share = state["row"]

# %% edit="one_mean_for_all" code="one_mean_for_all_matrices"
# Source: the lesson's estimate, where rows.mean() is right for one matrix
# All matrices of a stack share one mean.
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# +     row_share = state["row"] / state["row"].mean()

# %% edit="product_first" code="product_underflows"
# Source: the formula as it is written
# Rows and columns are multiplied before the division.
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return state["row"].unsqueeze(-1) * state["column"].unsqueeze(-2) / state["row"].mean(dim=-1)[..., None, None]

# %% edit="root_returned" code="root_returned"
# Source: the update needs the root
#       row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return (row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)).sqrt()

# %% edit="axes_swapped" code="shapes_do_not_meet"
# Source: a likely slip: dim=-2 for rows
# Row means run over the rows.
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# +     state["row"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# +     state["column"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)


# %% answer="another_dict" code="state_not_filled"
# Source: a likely slip: the state kept in a global
# The means are kept in a dict of its own for all tensors.
KEPT = {}


def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    state = KEPT
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)
    return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)


# %% edit="whole_beside_means" code="state_too_large"
# Source: a likely slip: the mean of squares is kept too
#       state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# +     state.setdefault("mean", torch.zeros_like(gradient)).mul_(beta).add_(squares, alpha=1 - beta)

# %% edit="weights_swapped" code="weights_swapped"
# Source: a likely slip: beta weighs the new number
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# +     state["row"].mul_(1 - beta).add_(squares.mean(dim=-1), alpha=beta)
# +     state["column"].mul_(1 - beta).add_(squares.mean(dim=-2), alpha=beta)

# %% edit="inverse_root" code="inverse_root_returned"
# Source: transformers' own function, which returns the inverse root
#       row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     return (row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)).rsqrt()

# %% edit="rows_divided_in_place" code="divided_rows_kept"
# Source: a likely slip: div_ for /
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# +     row_share = state["row"].div_(state["row"].mean(dim=-1, keepdim=True))  # [..., rows]
#       return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
