# Wrong answers to fp8_linear.
# Not here: library_shortcut, because the task does not say by hand, and scaled_mm is an allowed way to multiply.

# %% answer="plain_baseline" code="nothing_cast"
# Source: a plain linear layer
def fp8_linear(inputs, weight):
    return (inputs.float() @ weight.T).to(inputs.dtype)


# %% answer="copied_from_lesson" code="gradient_not_cast"
# Source: the casts of tensor_scaled_product, differentiated by autograd through the rounding
def fp8_linear(inputs, weight):
    (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
    rows = inputs.float() + (x.float() / x_scale - inputs.float()).detach()
    matrix = weight + (w.float() / w_scale - weight).detach()
    return (rows @ matrix.T).to(inputs.dtype)


# %% answer="hard_coded" code="raised_runtime_error" seed=20011
# Source: two dimensions, as in the first case
# Because: a transpose of sequences fails in torch itself, and its message names the shapes.
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
        ctx.save_for_backward(x, x_scale, w, w_scale)
        return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)

    @staticmethod
    def backward(ctx, output_gradient):
        x, x_scale, w, w_scale = ctx.saved_tensors
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_inputs = g.float() @ w.float() / g_scale / w_scale
        return of_inputs.to(output_gradient.dtype), g.float().transpose(0, 1) @ x.float() / g_scale / x_scale


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(inputs, weight)


# %% edit="e4m3_backward" code="e4m3_for_gradients"
# Source: one format for everything
# -         g, g_scale = to_fp8(output_gradient, E5M2)
# +         g, g_scale = to_fp8(output_gradient, E4M3)

# %% edit="e5m2_everywhere" code="e5m2_in_the_forward"
# Source: one format for everything
# -         (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
# +         (x, x_scale), (w, w_scale) = to_fp8(inputs, E5M2), to_fp8(weight, E5M2)

# %% edit="gradient_as_it_comes" code="gradient_not_cast"
# Source: backward in 16 bits
# -         g, g_scale = to_fp8(output_gradient, E5M2)
# +         g, g_scale = output_gradient, 1.0

# %% edit="output_scaled" code="scales_left_in"
# Source: the scales of the forward forgotten
# -         return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)
# +         return (x.float() @ w.float().T).to(inputs.dtype)

# %% edit="output_multiplied" code="scales_multiplied"
# Source: dequantization by multiplication
# -         return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)
# +         return (x.float() @ w.float().T * x_scale * w_scale).to(inputs.dtype)

# %% edit="own_scale_left" code="scales_left_in"
# Source: only the gradient's own scale taken out
# -         of_inputs = g.float() @ w.float() / g_scale / w_scale
# -         of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale / x_scale
# +         of_inputs = g.float() @ w.float() / g_scale
# +         of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale

# %% edit="other_scale" code="scales_of_the_wrong_operand"
# Source: the scale of the tensor whose gradient it is
# -         of_inputs = g.float() @ w.float() / g_scale / w_scale
# -         of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale / x_scale
# +         of_inputs = g.float() @ w.float() / g_scale / x_scale
# +         of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale / w_scale

# %% edit="no_input_gradient" code="gradient_missing"
# Source: the weight is what is trained
# -         return of_inputs.to(output_gradient.dtype), of_weight
# +         return None, of_weight

# %% edit="averaged" code="rows_averaged"
# Source: mean over rows
# -         return of_inputs.to(output_gradient.dtype), of_weight
# +         return of_inputs.to(output_gradient.dtype), of_weight / x.flatten(0, -2).shape[0]


# %% answer="inputs_kept" code="operand_of_backward_not_cast"
# Source: save_for_backward(inputs, weight), and a product in their format
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
        ctx.save_for_backward(inputs, w, w_scale)
        return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)

    @staticmethod
    def backward(ctx, output_gradient):
        inputs, w, w_scale = ctx.saved_tensors
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_inputs = g.float() @ w.float() / g_scale / w_scale
        of_weight = g.float().flatten(0, -2).T @ inputs.float().flatten(0, -2) / g_scale
        return of_inputs.to(output_gradient.dtype), of_weight


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(inputs, weight)


# %% answer="cast_again" code="wide_copy_kept"
# Source: torchao's way: the input kept, and cast again in backward
class Fp8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
        ctx.save_for_backward(inputs, weight)
        return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)

    @staticmethod
    def backward(ctx, output_gradient):
        (x, x_scale), (w, w_scale) = (to_fp8(kept, E4M3) for kept in ctx.saved_tensors)
        g, g_scale = to_fp8(output_gradient, E5M2)
        of_inputs = g.float() @ w.float() / g_scale / w_scale
        of_weight = g.float().flatten(0, -2).T @ x.float().flatten(0, -2) / g_scale / x_scale
        return of_inputs.to(output_gradient.dtype), of_weight


def fp8_linear(inputs, weight):
    return Fp8Linear.apply(inputs, weight)


# %% edit="float_copies" code="wide_copy_kept"
# Source: fp8 values kept as float32
# -         ctx.save_for_backward(x, x_scale, w, w_scale)
# +         ctx.save_for_backward(x.float(), x_scale, w.float(), w_scale)

# %% edit="attributes" code="kept_outside_autograd"
# Source: ctx attributes for tensors
# -         ctx.save_for_backward(x, x_scale, w, w_scale)
# +         ctx.x, ctx.x_scale, ctx.w, ctx.w_scale = x, x_scale, w, w_scale
# ...
# -         x, x_scale, w, w_scale = ctx.saved_tensors
# +         x, x_scale, w, w_scale = ctx.x, ctx.x_scale, ctx.w, ctx.w_scale

# %% edit="transposed_copy" code="too_many_copies"
# Source: a second copy with the other layout
# -         ctx.save_for_backward(x, x_scale, w, w_scale)
# +         ctx.save_for_backward(x, x_scale, w, w_scale, x.flatten(0, -2).T.contiguous())
# ...
# -         x, x_scale, w, w_scale = ctx.saved_tensors
# +         x, x_scale, w, w_scale, _ = ctx.saved_tensors

# %% edit="tuple_kept" code="kept_outside_autograd"
# Source: the input and the weight on ctx, in a tuple
# -         ctx.save_for_backward(x, x_scale, w, w_scale)
# +         ctx.kept = inputs, weight
# ...
# -         x, x_scale, w, w_scale = ctx.saved_tensors
# +         (x, x_scale), (w, w_scale) = (to_fp8(kept, E4M3) for kept in ctx.kept)

# %% edit="closure" code="kept_outside_autograd"
# Source: a function instead of saved tensors
# -         ctx.save_for_backward(x, x_scale, w, w_scale)
# +         ctx.saved = lambda: (x, x_scale, w, w_scale)
# ...
# -         x, x_scale, w, w_scale = ctx.saved_tensors
# +         x, x_scale, w, w_scale = ctx.saved()

# %% edit="weight_cached" code="weight_cast_once"
# Source: a weight that is cast for inference
# -         (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
# +         (x, x_scale), cached = to_fp8(inputs, E4M3), vars(weight)
# +         w, w_scale = cached.setdefault("in_fp8", to_fp8(weight, E4M3))

# %% edit="bf16_product" code="product_in_16_bits"
# Source: the format of the inputs
# -         return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)
# +         return ((x.bfloat16() @ w.bfloat16().T).float() / x_scale / w_scale).to(inputs.dtype)

# %% edit="loss_scale" code="gradient_without_a_scale_of_its_own"
# Source: lesson 05's factor
# -         g, g_scale = to_fp8(output_gradient, E5M2)
# +         g, g_scale = (output_gradient.float() * 65536).to(E5M2), 65536.0

# %% edit="dequantised" code="scales_out_before_the_product"
# Source: emulations that cast and back before they multiply
# -         return (x.float() @ w.float().T / x_scale / w_scale).to(inputs.dtype)
# +         return ((x.float() / x_scale) @ (w.float() / w_scale).T).to(inputs.dtype)

# %% edit="unscaled" code="cast_without_scales"
# Source: a plain cast
# -         (x, x_scale), (w, w_scale) = to_fp8(inputs, E4M3), to_fp8(weight, E4M3)
# +         (x, x_scale), (w, w_scale) = (inputs.to(E4M3), torch.ones(())), (weight.to(E4M3), torch.ones(()))
