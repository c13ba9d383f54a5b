# Source: the lesson's table as data
# Every piece with its elements and the moments at which it is alive.
def predict_step_peak(blocks: int, width: int, hidden: int, batch: int) -> int:
    weight = width * hidden
    parameters = blocks * (2 * weight + width + hidden)
    always = {"parameters": parameters, "moments": 2 * parameters, "step counters": 4 * blocks, "input": batch * width}
    moments = {
        "backward begins": {
            "activations": blocks * batch * (hidden + hidden + width),
            "gradient of the last layer's input": batch * hidden,
            "gradient of its weight": weight,
            "gradient of its bias": width,
            "loss": 1,
            "gradient of the loss": 1,
        },
        "update": {"gradients": parameters, "square root": weight, "quotient": weight, "last denominator": hidden},
    }
    return 4 * (sum(always.values()) + max(sum(pieces.values()) for pieces in moments.values()))
