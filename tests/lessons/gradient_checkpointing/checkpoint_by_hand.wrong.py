# %% answer="plain_baseline" code="plain_block_run"
# Source: the plain block
# Nothing is checkpointed.
def checkpoint_by_hand(block, inputs):
    return block(inputs)


# %% edit="hard_coded" code="raised_value_error" seed=20011
# Source: the block of the visible case, which has four trainable parameters
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


# %% edit="output_gradient_as_argument" code="block_given_too_much"
# Source: the published checkpoint, which hands grad_output to the function
# The block is called with the gradient of the output as a second input.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# -         with torch.enable_grad(), random_state(ctx.state):
# -             outputs = ctx.block(inputs)
# +         with torch.enable_grad():
# +             outputs = ctx.block(inputs, output_gradient)


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


# %% edit="counted_twice" code="gradient_counted_twice"
# Source: a mixture of both ways to give gradients
# Gradients are added to .grad, and returned as well.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# +         gradients = torch.autograd.grad(outputs, tensors, output_gradient, retain_graph=True)
# +         torch.autograd.backward(outputs, output_gradient, inputs=trainable(ctx.block))


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


# %% edit="gradient_scaled" code="gradient_scaled"
# Source: a likely slip: the mean over the rows is taken once more
# Every gradient is divided by the number of rows.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# +         gradients = torch.autograd.grad(outputs, tensors, output_gradient / len(inputs))

# %% edit="parameters_first" code="gradients_in_another_order"
# Source: a likely slip: the input is put at the end of the list
# Gradients are returned in another order than the arguments of apply.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# -         tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# +         tensors = [*trainable(ctx.block), inputs] if inputs.requires_grad else trainable(ctx.block)

# %% edit="one_value_too_few" code="gradients_miscounted"
# Source: a likely slip: the block is an argument of apply as well
# None for the block is forgotten.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# -         return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)
# +         return gradients

# %% edit="graph_in_first_run" code="graph_made_in_forward"
# Source: a likely slip: enable_grad in both directions
# The first run makes a graph that is kept and not used.
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           ctx.save_for_backward(inputs)
# -         return block(inputs)
# +         with torch.enable_grad():
# +             ctx.outputs = block(inputs.detach())
# +         return ctx.outputs.detach()


# %% answer="input_overwritten" code="input_changed_in_place"
# Source: a likely slip: memory is saved by writing into the saved input
# The saved input is changed in place by the first run.
class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, *parameters):
        ctx.block, ctx.state = block, read_random_state()
        outputs = block(inputs)
        if inputs.is_floating_point():
            ctx.save_for_backward(inputs)
            inputs.zero_()
        else:
            ctx.save_for_backward(inputs)
        return outputs

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
    return CheckpointFunction.apply(block, inputs, *trainable(block))


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

# %% edit="graphs_collected" code="memory_kept"
# Source: a likely slip: results are kept to look at them
# Every second run is kept in a list.
# + second_runs = []
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#               outputs = ctx.block(inputs)
# +         second_runs.append(outputs)
#           tensors = [inputs, *trainable(ctx.block)] if inputs.requires_grad else trainable(ctx.block)
# -         gradients = torch.autograd.grad(outputs, tensors, output_gradient)
# +         gradients = torch.autograd.grad(outputs, tensors, output_gradient, retain_graph=True)

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

# %% edit="one_run_for_each_gradient" code="recomputed_too_often"
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


# %% answer="output_forgotten" code="returned_none"
# Source: a likely slip: the last line without return
# Nothing is returned.
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
    CheckpointFunction.apply(block, inputs, *trainable(block))


# %% edit="eval_mode_for_equal_masks" code="run_in_eval_mode"
# Source: forum advice: switch dropout off to make both runs equal
#   class CheckpointFunction(torch.autograd.Function):
# -     """Runs a block in forward, and again in backward."""
# ...
#           inputs = saved.detach().requires_grad_(saved.requires_grad)  # cut off from the graph before it
# +         ctx.block.eval()
#           with torch.enable_grad(), random_state(ctx.state):
#               outputs = ctx.block(inputs)
# +         ctx.block.train()


# %% answer="tokens_plain" code="tokens_run_plainly"
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
