# Source: the lesson's worked example, from 4 and 8 blocks to 16
# Twice the difference is added, as from 8 blocks to 16.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    four, eight = few_bytes, more_bytes
    sixteen = eight + 2 * (eight - four)
    return sixteen
