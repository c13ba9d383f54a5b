# Wrong answers to fake_quantize.
# Not here: hard_coded, because every seed draws other values.

# %% answer="plain_baseline" code="no_gradient"
# Source: round and clamp
def fake_quantize(values, scale, bits):
    return scale * (values / scale).round().clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


# %% answer="copied_from_lesson" code="gradient_outside_of_the_range"
# Source: x + (y - x).detach() of the hint, around everything
def fake_quantize(values, scale, bits):
    rounded = scale * (values / scale).round().clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return values + (rounded - values).detach()


# %% edit="unclipped" code="not_clipped"
# Source: clamp forgotten
# -     steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
# +     steps = values / scale

# %% edit="symmetric" code="grid_symmetric"
# Source: symmetric integers, as for weights
# -     steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
# +     steps = (values / scale).clamp(1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1)

# %% edit="too_many" code="one_integer_too_many"
# Source: both ends alike
# -     steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
# +     steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1))

# %% edit="not_scaled_back" code="integers_returned"
# Source: quantization without dequantization
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return steps + (steps.round() - steps).detach()

# %% edit="floor" code="cut_off"
# Source: floor
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return scale * (steps + (steps.floor() - steps).detach())

# %% edit="half_up" code="half_not_to_even"
# Source: floor(x + 0.5)
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return scale * (steps + ((steps + 0.5).floor() - steps).detach())


# %% answer="scaled_gradient" code="gradient_scaled"
# Source: a Function whose backward divides by the scale
def fake_quantize(values, scale, bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            ctx.save_for_backward((values / scale >= least) & (values / scale <= most))
            return scale * (values / scale).round().clamp(least, most)

        @staticmethod
        def backward(ctx, gradient):
            (is_inside,) = ctx.saved_tensors
            return gradient * is_inside / scale

    return Rounded.apply(values)


# %% edit="detached" code="no_gradient"
# Source: detach around the wrong part
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return scale * (steps.detach() + (steps.round() - steps.detach()))


# %% answer="library_shortcut" code="range_tested_after_rounding"
# Source: torch's own fake quantization
def fake_quantize(values, scale, bits):
    return torch.fake_quantize_per_tensor_affine(values, scale, 0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


# %% edit="clipped_last" code="range_tested_after_rounding"
# Source: round, then clip
# -     steps = (values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
# -     return scale * (steps + (steps.round() - steps).detach())
# +     steps = values / scale
# +     return scale * (steps + (steps.round() - steps).detach()).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


# %% answer="open_range" code="range_without_its_ends"
# Source: a strict mask
def fake_quantize(values, scale, bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    steps = values / scale
    kept = values * ((steps > least) & (steps < most))
    return kept + (steps.round().clamp(least, most) * scale - kept).detach()


# %% edit="half_down" code="half_not_to_even"
# Source: ceil(x - 0.5)
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return scale * (steps + ((steps - 0.5).ceil() - steps).detach())

# %% edit="half_precision" code="another_format"
# Source: float16 to save memory
# -     return scale * (steps + (steps.round() - steps).detach())
# +     return (scale * (steps + (steps.round() - steps).detach())).half()


# %% answer="in_place" code="values_changed"
# Source: an in-place update
def fake_quantize(values, scale, bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    with torch.no_grad():
        values.copy_(scale * (values / scale).round().clamp(least, most))
    return values
