# Source: flags of each form
# A table of options.
FLAGS = {"Trainer": "", "transformers": "rs", "warm-up": "rsw", "scaled": "s", "torch": "rst"}


def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    flags, rate = FLAGS[form], lr
    if "r" in flags:
        bound = lr if "t" in flags else 1e-6 * step if "w" in flags else 0.01
        rate = sorted((bound, step ** (-1 / 2)))[0]
    return rate * (sorted((0.001, weight_rms))[1] if "s" in flags else 1.0)
