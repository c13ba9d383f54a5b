# Wrong answers to kernel_times.
# Not here: library_shortcut, because no library has a roofline.

# %% answer="plain_baseline" code="everything_compute_bound"
# Source: FLOPs divided by the datasheet's rate
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    outputs, weights = rows * columns, inner * columns
    work = {"product": 2 * rows * weights, "activation": 10 * outputs, "activation_backward": 10 * outputs}
    work["update"] = 15 * weights
    return {name: (flops / flops_per_second, "compute") for name, flops in work.items()}


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the layer and the device of the notebook
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    outputs, weights = rows * columns, inner * columns
    work = {"product": (2 * rows * inner * columns, rows * inner + weights + outputs)}
    work |= {"activation": (10 * outputs, 2 * outputs), "activation_backward": (10 * outputs, 3 * outputs)}
    work["update"] = (15 * weights, 7 * weights)
    times = {}
    for name, (flops, numbers) in work.items():
        computing, moving = flops / 312e12, numbers * number_bytes / 2.039e12
        times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
    return times


# %% answer="copied_from_lesson" code="everything_memory_bound"
# Source: the measured bandwidth of the lesson's copy, applied to all kernels
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    outputs, weights = rows * columns, inner * columns
    numbers = {"product": rows * inner + weights + outputs, "activation": 2 * outputs}
    numbers |= {"activation_backward": 3 * outputs, "update": 7 * weights}
    return {name: (count * number_bytes / bytes_per_second, "memory") for name, count in numbers.items()}


# %% edit="added" code="both_times_added"
# Source: computing after reading
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = (computing + moving, "compute" if computing > moving else "memory")

# %% edit="shorter" code="shorter_time_taken"
# Source: the roofline's min, which is of rates and not of times
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = (min(computing, moving), "compute" if computing > moving else "memory")

# %% edit="swapped" code="sides_swapped"
# Source: the side that is fast, in place of the side that is slow
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = (max(computing, moving), "memory" if computing > moving else "compute")

# %% edit="by_kind" code="side_by_the_kind_of_kernel"
# Source: the guide's "linear layers are compute-intensive"
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = (max(computing, moving), "compute" if name == "product" else "memory")

# %% edit="numbers_moved" code="numbers_for_bytes"
# Source: a unit forgotten
# -         computing, moving = flops / flops_per_second, numbers * number_bytes / bytes_per_second
# +         computing, moving = flops / flops_per_second, numbers / bytes_per_second

# %% edit="always_bf16" code="numbers_for_bytes"
# Source: 2 bytes, as in the notebook's case
# -         computing, moving = flops / flops_per_second, numbers * number_bytes / bytes_per_second
# +         computing, moving = flops / flops_per_second, numbers * 2 / bytes_per_second

# %% edit="reads_only" code="writes_forgotten"
# Source: bandwidth thought of as reading
# -     work["activation"] = (10 * outputs, 2 * outputs)
# -     work["activation_backward"] = (10 * outputs, 3 * outputs)
# -     work["update"] = (15 * weights, 7 * weights)
# +     work["activation"] = (10 * outputs, outputs)
# +     work["activation_backward"] = (10 * outputs, 2 * outputs)
# +     work["update"] = (15 * weights, 4 * weights)

# %% edit="backward_like_forward" code="tensors_of_the_backward_miscounted"
# Source: one tensor in, one out, in both directions
# -     work["activation_backward"] = (10 * outputs, 3 * outputs)
# +     work["activation_backward"] = (10 * outputs, 2 * outputs)

# %% edit="backward_twice" code="tensors_of_the_backward_miscounted"
# Source: backward is twice forward
# -     work["activation_backward"] = (10 * outputs, 3 * outputs)
# +     work["activation_backward"] = (20 * outputs, 4 * outputs)

# %% edit="on_the_input" code="activation_of_the_inputs"
# Source: the shape before the product
# -     work["activation"] = (10 * outputs, 2 * outputs)
# -     work["activation_backward"] = (10 * outputs, 3 * outputs)
# +     work["activation"] = (10 * rows * inner, 2 * rows * inner)
# +     work["activation_backward"] = (10 * rows * inner, 3 * rows * inner)

# %% edit="moments_kept" code="tensors_of_an_update_miscounted"
# Source: state is read, the weight is written
# -     work["update"] = (15 * weights, 7 * weights)
# +     work["update"] = (15 * weights, 5 * weights)

# %% edit="sgd" code="tensors_of_an_update_miscounted"
# Source: SGD: weight and gradient in, weight out
# -     work["update"] = (15 * weights, 7 * weights)
# +     work["update"] = (15 * weights, 3 * weights)

# %% edit="ten_everywhere" code="flops_not_of_the_table"
# Source: the FLOPs of the activation, copied down
# -     work["update"] = (15 * weights, 7 * weights)
# +     work["update"] = (10 * weights, 7 * weights)

# %% edit="twice_the_flops" code="flops_not_of_the_table"
# Source: backward takes twice forward's FLOPs, as a product does
# -     work["activation_backward"] = (10 * outputs, 3 * outputs)
# +     work["activation_backward"] = (20 * outputs, 3 * outputs)

# %% edit="flops_for_each_number" code="side_by_another_ridge"
# Source: intensity per number
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         side = "compute" if flops / numbers > flops_per_second / bytes_per_second else "memory"
# +         times[name] = (max(computing, moving), side)

# %% edit="ridge_inverted" code="side_by_another_ridge"
# Source: bytes per FLOP
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         intensity = flops / (numbers * number_bytes)
# +         times[name] = (max(computing, moving), "compute" if intensity > bytes_per_second / flops_per_second else "memory")

# %% edit="microseconds" code="other_unit_returned"
# Source: the unit in which the notebook prints
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = (1e6 * max(computing, moving), "compute" if computing > moving else "memory")

# %% edit="pair_reversed" code="no_pair"
# Source: side and seconds, in the other order
# -         times[name] = (max(computing, moving), "compute" if computing > moving else "memory")
# +         times[name] = ("compute" if computing > moving else "memory", max(computing, moving))

# %% edit="product_with_bias" code="product_changed"
# Source: a linear layer has a bias
# -     outputs, weights = rows * columns, inner * columns
# +     outputs, weights = rows * columns, inner * columns
# +     work["product"] = (2 * rows * inner * columns + outputs, rows * inner + weights + outputs + columns)

# %% edit="activation_of_three" code="other_bytes_moved"
# Source: the saved input written once more
# -     work["activation"] = (10 * outputs, 2 * outputs)
# +     work["activation"] = (10 * outputs, 3 * outputs)
