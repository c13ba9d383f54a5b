# %% answer="plain_baseline" code="large_model_forecast"
# Source: the obvious way: forecast the model itself
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    return forecast_layers(layers)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Four peaks seen once stand for a line.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    forecast_layers(few), forecast_layers(more)
    seen = {2: 12_549_588_588, 3: 2_192_041_060, 1: 4_640_064_288}
    return seen.get(few, 879_031_056)


# %% answer="copied_from_lesson" code="twice_the_difference"
# Source: the lesson's worked example, from 4 and 8 blocks to 16
# Twice the difference is added, as from 8 blocks to 16.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    four, eight = few_bytes, more_bytes
    sixteen = eight + 2 * (eight - four)
    return sixteen


# %% answer="library_shortcut" code="peak_forecast"
# Source: the lesson's cell that forecasts BERT-large
# The lesson's model is forecast whole, whatever model is asked for.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    return forecast_bert(layers)


# %% answer="layer_bytes_alone" code="another_model_forecast"
# Source: a model of one layer taken for the cost of a layer
# A model of one layer is forecast in place of the difference.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = forecast_layers(1)
    return few_bytes + (layers - few) * layer_bytes


# %% answer="rounded" code="answer_rounded"
# Source: the lesson's figures, which are rounded to MiB
# The two figures are rounded before they are used.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    few_mib, more_mib = round(few_bytes / MIB), round(more_bytes / MIB)
    layer_mib = (more_mib - few_mib) / (more - few)
    return (few_mib + (layers - few) * layer_mib) * MIB


# %% answer="difference_divided_by_more" code="difference_divided_by_another_number"
# Source: divided by the layers of the larger model
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // more
    return few_bytes + (layers - few) * layer_bytes


# %% edit="difference_not_divided" code="difference_not_divided"
# Source: the difference is taken for one layer
# The difference of the two models is not divided by their layers.
#       few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
# -     layer_bytes = (more_bytes - few_bytes) // (more - few)
# +     layer_bytes = more_bytes - few_bytes


# %% answer="wrong_model_as_start" code="layers_of_the_start_miscounted"
# Source: a start at one model, layers counted from the other
# The line starts at the larger model, and layers are counted from the smaller one.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return more_bytes + (layers - few) * layer_bytes


# %% answer="never_below" code="fewer_layers_left_out"
# Source: a guard against negative numbers
# A model smaller than both is given the smaller one's peak.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) / (more - few)
    return few_bytes + max(0, layers - few) * layer_bytes


# %% answer="layers_only" code="fixed_part_forgotten"
# Source: the rule of thumb: a large model is its layers
# The fixed part is forgotten.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return layers * layer_bytes


# %% answer="bert_layers" code="layers_of_bert_assumed"
# Source: the lesson's model: 24 layers
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return more_bytes + (24 - more) * layer_bytes


# %% answer="mebibytes" code="another_unit_for_bytes"
# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return (few_bytes + (layers - few) * layer_bytes) // MIB


# %% answer="small_model_as_fixed_part" code="small_model_taken_for_fixed_part"
# Source: the smaller model as the starting point
# The layers of the smaller model are counted twice.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return few_bytes + layers * layer_bytes


# %% answer="fixed_part_multiplied" code="fixed_part_multiplied"
# Source: a rule of three
# Embeddings, head and the rest are multiplied with the layers.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    return layers * few_bytes // few


# %% answer="two_layers_apart" code="two_layers_assumed"
# Source: the lesson's figures: 2 and 4 layers
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // 2
    return few_bytes + (layers - few) * layer_bytes
