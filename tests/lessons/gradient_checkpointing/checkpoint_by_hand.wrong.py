# %% answer="plain_baseline" code="plain_block_run"
# Source: the plain block
# Nothing is checkpointed.
def checkpoint_by_hand(block, inputs):
    return block(inputs)


# %% edit="hard_coded" code="raised_value_error" seed=20011
# Source: the block of the visible case, which has four trainable parameters
# Because: it unpacks the gradients of one shape of block, and Python counts the others.
# Gradients of four parameters are returned, whatever the block has.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         weight, bias, second_weight, second_bias = gradients[1:] if inputs.requires_grad else gradients
# +         return None, gradients[0] if inputs.requires_grad else None, weight, bias, second_weight, second_bias


# %% answer="copied_from_lesson" code="not_recomputed"
# Source: the lesson's worked example, the square
# The derivative of a square is taken for that of the block.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        return None, 2 * inputs * output_gradient


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs)


# %% answer="library_shortcut" code="library_checkpoint_used"
# Source: the lesson's own `run_segments`
# torch's checkpoint does the work.
def checkpoint_by_hand(block, inputs):
    return checkpoint(block, inputs, use_reentrant=False)


# %% answer="first_block_plain" code="first_block_run_plainly"
# Source: a likely slip: an input without gradient is taken to need no backward
# A block whose input needs no gradient runs plainly.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
        gradients = torch.autograd.grad(outputs, tensors, output_gradient)
        return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)


def checkpoint_by_hand(block, inputs):
    if not inputs.requires_grad:
        return block(inputs)
    return CheckpointFunction.apply(block, inputs, *trainable(block))


# %% answer="graph_kept" code="first_graph_kept"
# Source: a likely slip: the first run's graph is used in backward
# The first run keeps its graph, and there is no second.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block = block
        ctx.save_for_backward(inputs)
        ctx.inputs = inputs.detach().requires_grad_(inputs.requires_grad)
        with torch.enable_grad():
            ctx.outputs = block(ctx.inputs)
        return ctx.outputs.detach()

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        tensors = [ctx.inputs, *trainable(ctx.block)] if ctx.inputs.requires_grad else trainable(ctx.block)
        gradients = torch.autograd.grad(ctx.outputs, tensors, output_gradient)
        return (None, *gradients) if ctx.inputs.requires_grad else (None, None, *gradients)


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs, *trainable(block))


# %% answer="frozen_parameters_asked" code="gradient_of_fixed_tensor"
# Source: a likely slip: all parameters are asked for
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        parameters = list(ctx.block.parameters())
        tensors = [inputs, *parameters] if inputs.requires_grad else parameters
        gradients = torch.autograd.grad(outputs, tensors, output_gradient)
        return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs, *block.parameters())


# %% edit="parameters_first" code="gradients_in_another_order"
# Source: a likely slip: the input is put at the end of the list
# Gradients are returned in another order than the arguments of apply.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# +         tensors = [*trainable(ctx.block), inputs] if inputs.requires_grad else trainable(ctx.block)

# %% edit="input_gradient_dropped" code="input_gradient_missing"
# Source: a likely slip: only the parameters are thought of
# None is returned for the input.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         return None, None, *torch.autograd.grad(outputs, trainable(ctx.block), output_gradient)

# %% edit="input_always_asked" code="integer_input_differentiated"
# Source: a likely slip: the input is taken to need a gradient always
# The input is made to need a gradient, tokens too.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# +         inputs = inputs.requires_grad_(True)
#           with torch.enable_grad(), random_state(ctx.state):
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# +         tensors = [inputs, *trainable(ctx.block)]
#           gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         return None, *gradients

# %% edit="output_gradient_left_out" code="output_gradient_ignored"
# Source: a likely slip: torch.autograd.grad of a sum
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# +         gradients = torch.autograd.grad(outputs, tensors, torch.ones_like(outputs))

# %% edit="none_for_parameters" code="parameter_gradients_missing"
# Source: a likely slip: the parameters are handed over, and nothing is returned for them
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         gradient = torch.autograd.grad(outputs, inputs, output_gradient)[0] if inputs.requires_grad else None
# +         return None, gradient, *[None for _ in trainable(ctx.block)]


# %% answer="parameters_not_handed_over" code="parameters_not_handed_over"
# Source: the published checkpoint of the bug hunt
# apply is given the input alone, and backward returns its gradient alone.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        return None, torch.autograd.grad(outputs, inputs, output_gradient)[0]


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs)


# %% edit="random_state_set_for_good" code="random_state_left_behind"
# Source: a likely slip: manual state setting without a fork
# The state is set back, and stays there.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# -         with torch.enable_grad(), random_state(ctx.state):
# +         torch.set_rng_state(ctx.state[0])
# +         with torch.enable_grad():

# %% edit="random_state_ignored" code="random_state_not_replayed"
# Source: a likely slip: the second run draws new random numbers
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# -         with torch.enable_grad(), random_state(ctx.state):
# +         with torch.enable_grad():

# %% edit="one_run_for_each_gradient" code="run_too_often"
# Source: a likely slip: a second run for the input, and a third for the parameters
# The block runs again for each kind of gradient.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         gradient = torch.autograd.grad(outputs, inputs, output_gradient)[0] if inputs.requires_grad else None
# +         with torch.enable_grad(), random_state(ctx.state):
# +             outputs = ctx.block(inputs)
# +         return None, gradient, *torch.autograd.grad(outputs, trainable(ctx.block), output_gradient)

# %% edit="without_enable_grad" code="recomputed_without_graph"
# Source: a likely slip: backward runs without a graph
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# -         with torch.enable_grad(), random_state(ctx.state):
# +         with random_state(ctx.state):


# %% answer="tokens_plain" code="first_block_run_plainly"
# Source: a likely slip: tokens raise an error in requires_grad_, so they are kept away
# A block that is given tokens runs plainly.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
        gradients = torch.autograd.grad(outputs, tensors, output_gradient)
        return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)


def checkpoint_by_hand(block, inputs):
    if not inputs.is_floating_point():
        return block(inputs)
    return CheckpointFunction.apply(block, inputs, *trainable(block))


# %% edit="seeded_before_the_first_run" code="random_numbers_changed"
# Source: a likely slip: a seed for both runs, so that they agree
# +         torch.manual_seed(0)
#           ctx.block, ctx.state = block, read_random_state()

# %% edit="input_saved_in_half" code="rounded_to_fewer_bits"
# Source: a likely idea: save still more
# -         ctx.save_for_backward(inputs)
# +         ctx.save_for_backward(inputs.bfloat16().to(inputs.dtype))
