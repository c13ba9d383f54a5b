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
