# Source: a likely slip: the parameters are handed over, and nothing is returned for them
# Gradients of the parameters are not returned.
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
        gradient = torch.autograd.grad(outputs, inputs, output_gradient)[0] if inputs.requires_grad else None
        return None, gradient, *[None for _ in trainable(ctx.block)]


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs, *trainable(block))
