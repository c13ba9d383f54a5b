# %% answer="plain_baseline" code="nothing_recomputed"
# Source: the plain model
# Nothing is checkpointed.
def fit_into_budget(blocks, inputs, budget_bytes):
    return blocks


# %% answer="hard_coded" code="wrong_blocks_chosen" seed=20011
# Source: the visible case, whose large blocks were looked up
# The blocks of the visible models are written down.
def fit_into_budget(blocks, inputs, budget_bytes):
    shapes = [tuple(parameter.shape) for parameter in blocks.parameters()]
    chosen = {1, 4}
    if (336, 32) in shapes:
        chosen = set() if budget_bytes > 60 * MIB else {0, 2, 3}
    elif (356, 128) in shapes or (1560, 256) in shapes:
        chosen = {4} if (356, 128) in shapes else {1}

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% answer="copied_from_lesson" code="every_block_recomputed"
# Source: the lesson's `run_segments`
# Every block is checkpointed by itself.
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: run_segments(blocks, states, 1)


# %% answer="block_at_work_forgotten" code="block_at_work_forgotten"
# Source: a likely slip: a block in a checkpoint is taken to hold nothing
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def peak(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) for index, _ in enumerate(needed))

    for count in range(len(needed)):
        chosen = min(combinations(range(len(needed)), count), key=peak)
        if peak(chosen) <= budget_bytes:
            break

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% edit="fewest_bytes" code="fewest_bytes_recomputed"
# Source: a likely slip: little work is taken for few blocks
# The set whose interiors have the fewest bytes.
#           return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes
#
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# -     chosen = next(filter(fits, sets))
# +     inner = [size - states.nbytes for size in needed]
# +     sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
# +     chosen = min(filter(fits, sets), key=lambda chosen: sum(inner[index] for index in chosen))

# %% edit="reentrant" code="first_block_untrained"
# Source: older guides: use_reentrant=True
# Every checkpoint is reentrant: the parameters of the first block get no gradient.
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +     sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
#       chosen = next(filter(fits, sets))
# ...
#           for index, block in enumerate(blocks):
# -             states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
# +             states = checkpoint(block, states, use_reentrant=True) if index in chosen else block(states)

# %% edit="work_forgotten" code="gradient_inside_forgotten"
# Source: a likely slip: the gradient inside a block is left out
# The block at work is counted once, not one and a half times.
#           kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
# -         return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes
# -
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +         return fixed_bytes + max(sum(kept[:index]) + size for index, size in enumerate(needed)) <= budget_bytes
# +     sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))

# %% edit="gradient_scaled" code="gradient_scaled"
# Source: a likely slip: gradients are halved because each block runs twice
# Gradients are divided by two on their way.
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +     sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
#       chosen = next(filter(fits, sets))
# ...
#               states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
# +         states.register_hook(lambda gradient: gradient / 2)


# %% answer="inputs_forgotten" code="kept_inputs_forgotten"
# Source: a likely slip: a checkpoint is taken to keep nothing
# Interiors are counted, and no input of a block.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, boundaries, states = [], [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        boundaries.append(states.nbytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def peak(chosen):
        inner = [size - boundary for size, boundary in zip(needed, boundaries)]
        kept = [0 if index in chosen else size for index, size in enumerate(inner)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(inner))

    for count in range(len(needed)):
        chosen = min(combinations(range(len(needed)), count), key=peak)
        if peak(chosen) <= budget_bytes:
            break

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% answer="square_root" code="large_segments"
# Source: the square-root law, used where blocks differ
# Every second block begins a checkpoint of two.
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: run_segments(blocks, states, 3)


# %% answer="largest_first" code="largest_block_chosen"
# Source: a likely slip: the largest block is taken to save the most
# The largest blocks are checkpointed until their sizes add up.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)
    order = sorted(range(len(needed)), key=lambda index: -needed[index])
    chosen = []
    while fixed_bytes + sum(needed) - sum(needed[index] for index in chosen) > budget_bytes:
        chosen.append(order[len(chosen)])

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% edit="largest_until_it_fits" code="last_block_recomputed"
# Source: a likely slip: the largest blocks first, and the peak measured
# Blocks are added by size until the peak fits; useless ones stay.
#           return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes
#
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# -     chosen = next(filter(fits, sets))
# +     order = sorted(range(len(needed)), key=lambda index: -needed[index])
# +     chosen = next(order[:count] for count in range(len(order) + 1) if fits(order[:count]))


# %% answer="half_the_budget" code="more_recomputed_than_needed"
# Source: a likely slip: a safety margin that is too large
# The budget is taken to be two thirds of what it is.
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def fits(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return (
            fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed))
            <= 0.83 * budget_bytes
        )

    sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
    chosen = next(filter(fits, sets), (0, 1, 2, 3))

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% answer="one_checkpoint" code="one_checkpoint_for_all"
# Source: the published use: the whole net wrapped once
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: checkpoint(blocks, states, use_reentrant=False)


# %% answer="block_skipped" code="other_output"
# Source: a likely slip: range without the first block
# The first block is left out of the run.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        states = blocks[0](states)
        for block in blocks[1:-1]:
            states = checkpoint(block, states, use_reentrant=False)
        return states

    return run


# %% answer="called_at_once" code="output_returned"
# Source: a likely slip: the function is called, not returned
def fit_into_budget(blocks, inputs, budget_bytes):
    return run_segments(blocks, inputs, 1)


# %% answer="output_scaled" code="output_scaled"
# Source: a likely slip: the output is averaged over the blocks
def fit_into_budget(blocks, inputs, budget_bytes):
    return lambda states: blocks(states) / len(blocks)


# %% answer="without_gradient" code="output_without_graph"
# Source: a likely slip: no_grad saves the most memory
# No graph is made at all.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        with torch.no_grad():
            return blocks(states)

    return run


# %% answer="parameters_forgotten" code="parameters_forgotten"
# Source: a fresh reader's slip: parameters are counted, their gradients are not
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = sum(parameter.nbytes for parameter in blocks.parameters()) + 2 * states.nbytes

    def peak(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        inside = [size - states.nbytes for size in needed]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(inside))

    for count in range(len(needed)):
        chosen = min(combinations(range(len(needed)), count), key=peak)
        if peak(chosen) <= budget_bytes:
            break

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% edit="random_state_not_preserved" code="random_state_not_kept"
# Source: forum advice for speed: preserve_rng_state=False
# The second run draws another mask of dropout.
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +     sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
#       chosen = next(filter(fits, sets))
# ...
#           for index, block in enumerate(blocks):
# -             states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
# +             states = (
# +                 checkpoint(block, states, use_reentrant=False, preserve_rng_state=False)
# +                 if index in chosen
# +                 else block(states)
# +             )

# %% edit="roomy_budget_ignored" code="recomputed_needlessly"
# Source: a likely slip: the search begins with one block
# At least one block is always checkpointed.
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +     sets = (chosen for count in range(1, len(needed) + 1) for chosen in combinations(range(len(needed)), count))
#       chosen = next(filter(fits, sets))


# %% answer="eval_mode" code="run_in_eval_mode"
# Source: forum advice: eval mode needs less memory
# Dropout is switched off, so that its masks need no memory.
def fit_into_budget(blocks, inputs, budget_bytes):
    blocks.eval()
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def fits(chosen):
        kept = [states.nbytes if index in chosen else size for index, size in enumerate(needed)]
        return fixed_bytes + max(sum(kept[:index]) + 1.5 * size for index, size in enumerate(needed)) <= budget_bytes

    sets = (chosen for count in range(len(needed) + 1) for chosen in combinations(range(len(needed)), count))
    chosen = next(filter(fits, sets))

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run


# %% edit="sets_by_number" code="sets_in_another_order"
# Source: a loop over all bit patterns, without sorting them
# The first set that fits in the order of the numbers that stand for the sets.
# -     sets = (chosen for count in range(len(needed)) for chosen in combinations(range(len(needed)), count))
# +     count = len(needed)
# +     sets = ([index for index in range(count) if number >> index & 1] for number in range(2**count))
#       chosen = next(filter(fits, sets))


# %% answer="detached_between_blocks" code="some_gradients_missing"
# Source: a likely slip: detach frees the graph of the blocks before
# Each block's input is detached, and only the last block learns.
def fit_into_budget(blocks, inputs, budget_bytes):
    def run(states):
        for block in blocks:
            states = block(states.detach())
        return states

    return run
