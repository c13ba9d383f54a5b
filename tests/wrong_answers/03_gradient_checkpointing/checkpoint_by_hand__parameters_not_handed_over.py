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
