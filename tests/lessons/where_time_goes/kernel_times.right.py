# Right answers to kernel_times.


# %% answer="by_intensity"
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    ridge = flops_per_second / bytes_per_second

    def roof(flops, *tensors):
        moved = sum(tensors) * number_bytes
        if flops / moved > ridge:
            return flops / flops_per_second, "compute"
        return moved / bytes_per_second, "memory"

    x, y, w = rows * inner, rows * columns, inner * columns
    return {
        "product": roof(2 * x * columns, x, w, y),
        "activation": roof(10 * y, y, y),
        "activation_backward": roof(10 * y, y, y, y),
        "update": roof(15 * w, w, w, w, w, w, w, w),
    }


# %% answer="rates_of_the_roofline"
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    y, w = rows * columns, inner * columns
    flops = {"product": 2 * rows * w, "activation": 10 * y, "activation_backward": 10 * y, "update": 15 * w}
    moved = {"product": rows * inner + w + y, "activation": y * 2, "activation_backward": y * 3, "update": w * 7}
    result = {}
    for name in flops:
        intensity = flops[name] / (moved[name] * number_bytes)
        rate = min(flops_per_second, intensity * bytes_per_second)
        result[name] = [flops[name] / rate, "memory" if rate < flops_per_second else "compute"]
    return result


# %% answer="tensors_as_numbers"
def kernel_times(rows, inner, columns, number_bytes, flops_per_second, bytes_per_second):
    outputs, weights = rows * columns, inner * columns
    names = ("product", "activation", "activation_backward", "update")
    flops = torch.tensor([2.0 * rows * weights, 10.0 * outputs, 10.0 * outputs, 15.0 * weights], dtype=torch.float64)
    numbers = [rows * inner + weights + outputs, 2 * outputs, 3 * outputs, 7 * weights]
    moving = torch.tensor(numbers, dtype=torch.float64) * number_bytes / bytes_per_second
    seconds, side = torch.stack([flops / flops_per_second, moving]).max(dim=0)
    return {name: (seconds[i], ("compute", "memory")[side[i]]) for i, name in enumerate(names)}
