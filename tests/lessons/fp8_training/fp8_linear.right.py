# Right answers to fp8_linear.

# %% answer="weight_cast_again"
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        x, x_scale = to_fp8(inputs, E4M3)
        w, w_scale = to_fp8(weight, E4M3)
        ctx.save_for_backward(x, x_scale, weight)
        return (F.linear(x.float(), w.float()) / (x_scale * w_scale)).to(inputs.dtype)

    @staticmethod
    def backward(ctx, output_gradient):
        x, x_scale, weight = ctx.saved_tensors
        w, w_scale = to_fp8(weight, E4M3)
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_weight = torch.einsum("...o,...f->of", g.float(), x.float()) / x_scale / g_scale
        return (g.float() @ w.float() / w_scale / g_scale).to(output_gradient.dtype), of_weight


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(inputs, weight)


# %% answer="setup_context"
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(x, x_scale, w, w_scale, inputs, weight):
        return (x.float() @ w.float().t() / (x_scale * w_scale)).to(inputs.dtype)

    @staticmethod
    def setup_context(ctx, arguments, output):
        ctx.save_for_backward(*arguments[:4])

    @staticmethod
    def backward(ctx, gradient):
        x, x_scale, w, w_scale = ctx.saved_tensors
        g, scale = to_fp8(gradient, E5M2)
        rows = g.float().reshape(-1, g.shape[-1])
        of_weight = (x.float().reshape(-1, x.shape[-1]).T @ rows).T / (x_scale * scale)
        return None, None, None, None, (g.float() @ w.float() / scale / w_scale).to(gradient.dtype), of_weight


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(*to_fp8(inputs, E4M3), *to_fp8(weight, E4M3), inputs, weight)


# %% answer="bytes_kept"
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        (x, ctx.x_scale), (w, ctx.w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
        ctx.save_for_backward(x.view(torch.uint8), w.view(torch.uint8))
        return (x.float() @ w.float().T / ctx.x_scale / ctx.w_scale).to(inputs.dtype)

    @staticmethod
    def backward(ctx, output_gradient):
        x, w = (kept.view(E4M3).float() for kept in ctx.saved_tensors)
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_inputs = g.float() @ w / ctx.w_scale / g_scale
        of_weight = g.float().flatten(0, -2).T @ x.flatten(0, -2) / ctx.x_scale / g_scale
        return of_inputs.to(output_gradient.dtype), of_weight


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(inputs, weight)
