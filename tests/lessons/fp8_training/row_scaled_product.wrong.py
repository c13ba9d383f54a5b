# Wrong answers to row_scaled_product.
# Not here: library_shortcut, because the task does not say by hand, and scaled_mm with rows is in the right bank.

# %% answer="plain_baseline" code="nothing_cast"
# Source: the product of torch
def row_scaled_product(a, b):
    return a @ b


# %% answer="copied_from_lesson" code="one_scale_for_the_tensor"
# Source: tensor_scaled_product
def row_scaled_product(a, b):
    a_scale, b_scale = (power_of_two(448 / matrix.abs().max()) for matrix in (a, b))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% answer="hard_coded" code="scales_along_the_sum" seed=20011
# Source: axes that fit the square product that comes first
def row_scaled_product(a, b):
    a_scale = power_of_two(448 / a.abs().amax(dim=0, keepdim=True).clamp(min=1e-20))
    b_scale = power_of_two(448 / b.abs().amax(dim=1, keepdim=True).clamp(min=1e-20))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return (a8.float() / a_scale) @ (b8.float() / b_scale)


# %% answer="axes_swapped" code="scales_do_not_fit"
# Source: amax over the wrong axis, scales taken out of the product
def row_scaled_product(a, b):
    a_scale = power_of_two(448 / a.abs().amax(dim=0, keepdim=True).clamp(min=1e-20))
    b_scale = power_of_two(448 / b.abs().amax(dim=1, keepdim=True).clamp(min=1e-20))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% answer="rows_of_both" code="scales_do_not_fit"
# Source: row scales for both operands
def row_scaled_product(a, b):
    a_scale, b_scale = (power_of_two(448 / m.abs().amax(dim=1, keepdim=True).clamp(min=1e-20)) for m in (a, b))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% answer="rows_of_a_only" code="one_scale_for_the_tensor"
# Source: a's rows scaled, b as before
def row_scaled_product(a, b):
    a_scale = power_of_two(448 / a.abs().amax(dim=1, keepdim=True).clamp(min=1e-20))
    b_scale = power_of_two(448 / b.abs().max())
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% answer="no_clamp" code="zeros_divided_by"
# Source: rows of zeros forgotten
def row_scaled_product(a, b):
    a_scale = power_of_two(448 / a.abs().amax(dim=1, keepdim=True))
    b_scale = power_of_two(448 / b.abs().amax(dim=0, keepdim=True))
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% answer="inverted" code="scale_inverted"
# Source: amax over 448
def row_scaled_product(a, b):
    a_scale = power_of_two(a.abs().amax(dim=1, keepdim=True).clamp(min=1e-20) / 448)
    b_scale = power_of_two(b.abs().amax(dim=0, keepdim=True).clamp(min=1e-20) / 448)
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% edit="left_in" code="scales_left_in"
# Source: nothing taken out
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return a8.float() @ b8.float()

# %% edit="one_left_in" code="scales_left_in"
# Source: only a's scale taken out
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return a8.float() @ b8.float() / a_scale

# %% edit="multiplied" code="scales_put_in_again"
# Source: dequantization by multiplication
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return a8.float() @ b8.float() * a_scale * b_scale

# %% edit="bf16_product" code="product_in_few_bits"
# Source: bf16 in place of float32
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return (a8.bfloat16() @ b8.bfloat16()).float() / a_scale / b_scale

# %% edit="signed" code="signs_not_dropped"
# Source: abs forgotten
# -     a_size, b_size = a.abs().amax(dim=1, keepdim=True), b.abs().amax(dim=0, keepdim=True)
# +     a_size, b_size = a.amax(dim=1, keepdim=True), b.amax(dim=0, keepdim=True)

# %% edit="e5m2" code="e5m2_for_operands"
# Source: the other format
# -     a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
# +     a8, b8 = (a * a_scale).to(E5M2), (b * b_scale).to(E5M2)


# %% answer="any_scale" code="scale_not_a_power_of_two"
# Source: power_of_two left out
def row_scaled_product(a, b):
    a_scale = 448 / a.abs().amax(dim=1, keepdim=True).clamp(min=1e-20)
    b_scale = 448 / b.abs().amax(dim=0, keepdim=True).clamp(min=1e-20)
    a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
    return a8.float() @ b8.float() / a_scale / b_scale


# %% edit="dequantised" code="scales_out_before_the_product"
# Source: emulations that cast and back before they multiply
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return (a8.float() / a_scale) @ (b8.float() / b_scale)

# %% edit="usual_guard" code="scale_limited"
# Source: torchao's smallest size
# -     a_scale, b_scale = power_of_two(448 / a_size.clamp(min=1e-20)), power_of_two(448 / b_size.clamp(min=1e-20))
# +     a_scale, b_scale = power_of_two(448 / a_size.clamp(min=1e-12)), power_of_two(448 / b_size.clamp(min=1e-12))

# %% edit="by_norm" code="not_the_largest_magnitude"
# Source: normalised rows
# -     a_size, b_size = a.abs().amax(dim=1, keepdim=True), b.abs().amax(dim=0, keepdim=True)
# +     a_size, b_size = a.norm(dim=1, keepdim=True), b.norm(dim=0, keepdim=True)

# %% edit="nearest_power" code="scales_rounded_up"
# Source: rounding to the nearest exponent
# -     a_scale, b_scale = power_of_two(448 / a_size.clamp(min=1e-20)), power_of_two(448 / b_size.clamp(min=1e-20))
# +     a_scale = torch.exp2(torch.log2(448 / a_size.clamp(min=1e-20)).round())
# +     b_scale = torch.exp2(torch.log2(448 / b_size.clamp(min=1e-20)).round())

# %% edit="maximum_240" code="another_target"
# Source: e4m3 with an infinity, as on other hardware
# -     a_scale, b_scale = power_of_two(448 / a_size.clamp(min=1e-20)), power_of_two(448 / b_size.clamp(min=1e-20))
# +     a_scale, b_scale = power_of_two(240 / a_size.clamp(min=1e-20)), power_of_two(240 / b_size.clamp(min=1e-20))

# %% edit="one_cast" code="one_operand_cast"
# Source: weights in 8 bits only
# -     return a8.float() @ b8.float() / a_scale / b_scale
# +     return a8.float() @ (b * b_scale) / a_scale / b_scale


# %% answer="unscaled" code="cast_without_scales"
# Source: a plain cast
def row_scaled_product(a, b):
    return a.to(E4M3).float() @ b.to(E4M3).float()


# %% edit="in_place" code="arguments_changed"
# Source: a *= scale, as report_rows does
# -     a8, b8 = (a * a_scale).to(E4M3), (b * b_scale).to(E4M3)
# +     a *= a_scale
# +     b *= b_scale
# +     a8, b8 = a.to(E4M3), b.to(E4M3)


# %% answer="blocks" code="scales_along_the_sum"
# Source: blocks of 32, as in MXFP8
def row_scaled_product(a, b):
    product = torch.zeros(a.shape[0], b.shape[1])
    for x, y in zip(a.split(32, 1), b.split(32), strict=True):
        x_scale = power_of_two(448 / x.abs().amax(dim=1, keepdim=True).clamp(min=1e-20))
        y_scale = power_of_two(448 / y.abs().amax(dim=0, keepdim=True).clamp(min=1e-20))
        product += (x * x_scale).to(E4M3).float() @ (y * y_scale).to(E4M3).float() / x_scale / y_scale
    return product
