# Wrong answers to expert_costs.
# Not here: library_shortcut, because no library has an entry point for these costs.

# %% answer="plain_baseline" code="experts_in_every_block"
# Source: a dense model whose feed-forward parts are multiplied
def expert_costs(layers, every, width, hidden, experts, chosen):
    outside = layers * (4 * width * width + experts * width)
    part = 2 * width * hidden
    total, active = outside + layers * experts * part, outside + layers * chosen * part
    return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the numbers of the notebook, for every model
def expert_costs(layers, every, width, hidden, experts, chosen):
    sizes = [(12, 2, 768, 3072, 8, 2)]
    layers, every, width, hidden, experts, chosen = sizes[0]
    sparse, part = layers // every, 2 * width * hidden
    shared = layers * 4 * width**2 + (layers - sparse) * part + sparse * experts * width
    total, active = shared + sparse * experts * part, shared + sparse * chosen * part
    return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}


# %% answer="copied_from_lesson" code="share_of_the_whole_active"
# Source: the cell on Mixtral, with all parameters in place of those in experts
def expert_costs(layers, every, width, hidden, experts, chosen):
    sparse, part = layers // every, 2 * width * hidden
    total = layers * 4 * width**2 + (layers - sparse) * part + sparse * experts * (width + part)
    active = total - total * (experts - chosen) // experts
    return {"total": total, "active": total * chosen // experts or active, "bytes": 16 * total, "flops": 6 * active}


# %% edit="rounded_up" code="short_group_counted"
# Source: every block whose number is divisible, counted from 0
# -     sparse = layers // every
# +     sparse = math.ceil(layers / every)

# %% edit="the_others" code="blocks_with_and_without_exchanged"
# Source: experts in all blocks but the last of each group
# -     sparse = layers // every
# +     sparse = layers - layers // every

# %% edit="no_router" code="router_forgotten"
# Source: a router is small
# -     shared = layers * 4 * width * width + (layers - sparse) * expert + sparse * experts * width
# +     shared = layers * 4 * width * width + (layers - sparse) * expert

# %% edit="no_attention" code="attention_forgotten"
# Source: only feed-forward parts counted
# -     shared = layers * 4 * width * width + (layers - sparse) * expert + sparse * experts * width
# +     shared = (layers - sparse) * expert + sparse * experts * width

# %% edit="one_matrix" code="one_matrix_counted"
# Source: a feed-forward part as one matrix
# -     expert = 2 * width * hidden
# +     expert = width * hidden

# %% edit="one_active" code="one_expert_active"
# Source: the Switch Transformer's single expert
# -     active = shared + sparse * chosen * expert
# +     active = shared + sparse * expert

# %% edit="active_memory" code="memory_of_the_active"
# Source: a sparse model needs the memory of a small one
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 16 * active, "flops": 6 * active}

# %% edit="weights" code="weights_alone"
# Source: bytes of inference
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 4 * total, "flops": 6 * active}

# %% edit="no_gradients" code="part_of_the_state_forgotten"
# Source: weights and moments, without gradients
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 12 * total, "flops": 6 * active}

# %% edit="flops_of_the_total" code="flops_of_all_experts"
# Source: 6 N D with all parameters
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * total}

# %% edit="inference" code="backward_forgotten"
# Source: two FLOPs for each weight
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 16 * total, "flops": 2 * active}

# %% edit="multiply_adds" code="multiply_add_counted_once"
# Source: papers that count multiply-adds
# -     return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}
# +     return {"total": total, "active": active, "bytes": 16 * total, "flops": 3 * active}
