# Right answers to fake_quantize.

# %% answer="function"
def fake_quantize(values, scale, bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            steps = values / scale
            ctx.save_for_backward((steps >= least) & (steps <= most))
            return scale * steps.round().clamp(least, most)

        @staticmethod
        def backward(ctx, gradient):
            (is_inside,) = ctx.saved_tensors
            return torch.where(is_inside, gradient, torch.zeros_like(gradient))

    return Rounded.apply(values)


# %% answer="clipped_values"
def fake_quantize(values, scale, bits):
    half = 2 ** (bits - 1)
    clipped = values.clamp(-half * scale, (half - 1) * scale)
    return clipped + (scale * torch.round(clipped / scale) - clipped).detach()


# %% answer="masked"
def fake_quantize(values, scale, bits):
    half = 1 << (bits - 1)
    steps = values.detach() / scale
    is_inside = (steps >= -half) & (steps <= half - 1)
    rounded = steps.round().clamp(-half, half - 1) * scale
    return torch.where(is_inside, values - values.detach() + rounded, rounded)
