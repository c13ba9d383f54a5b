# Source: a likely slip: the input is put at the end of the list
# Gradients are returned in another order than the arguments of apply.
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
        tensors = [*trainable(ctx.block), inputs] if inputs.requires_grad else trainable(ctx.block)
        gradients = torch.autograd.grad(outputs, tensors, output_gradient)
        return (None, *gradients) if inputs.requires_grad else (None, None, *gradients)


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs, *trainable(block))
