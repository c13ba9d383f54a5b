class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, inputs, needs_gradient):
        ctx.block, ctx.state = block, read_random_state()
        ctx.save_for_backward(inputs)
        return block(inputs)

    @staticmethod
    def backward(ctx, output_gradient):
        (saved,) = ctx.saved_tensors
        inputs = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), random_state(ctx.state):
            outputs = ctx.block(inputs)
        torch.autograd.backward(outputs, output_gradient)  # adds to .grad of the parameters by itself
        return None, inputs.grad, None


def checkpoint_by_hand(block, inputs):
    return CheckpointFunction.apply(block, inputs, torch.zeros((), requires_grad=True))
