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
