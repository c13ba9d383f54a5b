# Source: weight.data, and the decay as a part of the difference
# Everything is computed out of place, and written through .data.
def adafactor_step(optimizer) -> None:
    for options in optimizer.param_groups:
        for parameter in options["params"]:
            gradient = parameter.grad
            if gradient is not None:
                kept = optimizer.state[parameter]
                step = kept["count"] = kept.get("count", 0) + 1
                new, squares = step ** options["decay_rate"], gradient.pow(2) + options["eps"]
                if gradient.ndim < 2:
                    kept["v"] = (1 - new) * kept["v"] + new * squares if step > 1 else squares
                    root = kept["v"].sqrt()
                else:
                    r, c = squares.mean(-1), squares.mean(-2)
                    if step > 1:
                        r, c = (1 - new) * kept["r"] + new * r, (1 - new) * kept["c"] + new * c
                    kept["r"], kept["c"] = r, c
                    root = (r / r.mean(-1, keepdim=True)).sqrt()[..., :, None] * c.sqrt()[..., None, :]
                direction = gradient / root
                size = direction.pow(2).mean().sqrt()
                direction = direction / torch.maximum(torch.ones_like(size), size / options["clip_threshold"])
                rate = torch.as_tensor(options["lr"])
                if options["scale_parameter"]:
                    rate = rate * parameter.data.pow(2).mean().sqrt().clamp(min=0.001)
                parameter.data = parameter.data * (1 - rate * options["weight_decay"]) - rate * direction
