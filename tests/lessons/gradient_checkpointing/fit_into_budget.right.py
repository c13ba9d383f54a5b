# %% answer="bits_of_a_number"
def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)

    def peak(plan):
        held, highest = fixed_bytes, 0
        for index, size in enumerate(needed):
            highest = max(highest, held + 1.5 * size)
            held += states.nbytes if plan >> index & 1 else size
        return highest

    plans = sorted(range(2 ** len(needed)), key=lambda plan: plan.bit_count())
    plan = next(plan for plan in plans if peak(plan) <= budget_bytes)

    class Model(torch.nn.Module):
        def forward(self, states):
            for index, block in enumerate(blocks):
                states = checkpoint(block, states, use_reentrant=False) if plan >> index & 1 else block(states)
            return states

    return Model()


# %% answer="own_function"
def fit_into_budget(blocks, inputs, budget_bytes):
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

    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, block, states, *parameters):
            ctx.block, ctx.state = block, read_random_state()
            ctx.save_for_backward(states)
            return block(states)

        @staticmethod
        def backward(ctx, output_gradient):
            states = ctx.saved_tensors[0].detach().requires_grad_(ctx.needs_input_grad[1])
            with torch.enable_grad(), random_state(ctx.state):
                outputs = ctx.block(states)
            tensors = [states, *trainable(ctx.block)] if states.requires_grad else trainable(ctx.block)
            gradients = torch.autograd.grad(outputs, tensors, output_gradient)
            return (None, *gradients) if states.requires_grad else (None, None, *gradients)

    def run(states):
        for index, block in enumerate(blocks):
            states = Again.apply(block, states, *trainable(block)) if index in chosen else block(states)
        return states

    return run


# %% answer="walk_and_drop_the_largest"
import heapq


def fit_into_budget(blocks, inputs, budget_bytes):
    needed, states = [], inputs
    for block in blocks:
        needed.append(measure_saved_tensors(lambda block=block, states=states: block(states)).total_bytes)
        states = block(states).detach()
    fixed_bytes = 2 * (sum(parameter.nbytes for parameter in blocks.parameters()) + states.nbytes)
    kept, chosen, held = [], set(), fixed_bytes
    for index, size in enumerate(needed):  # whenever the row of a block is too full, drop the largest before it
        while held + 1.5 * size > budget_bytes:
            dropped, place = heapq.heappop(kept)
            chosen.add(place)
            held += dropped + states.nbytes
        heapq.heappush(kept, (-size, index))
        held += size

    def run(states):
        for index, block in enumerate(blocks):
            states = checkpoint(block, states, use_reentrant=False) if index in chosen else block(states)
        return states

    return run
