# Wrong answers to cache_bytes.
# Not here: library_shortcut, because the exercise does not say by hand, and no library computes it from these sizes.

# %% answer="plain_baseline" code="window_ignored"
# Source: the cache of a model without windows
def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    return layers * time * 2 * key_heads * head_dim * number_bytes


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the bytes of the visible cases, read off the messages of failed checks
from itertools import cycle

VISIBLE = cycle([1342177280, 242823168, 91017216])


def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    return next(VISIBLE)


# %% answer="copied_from_lesson" code="query_heads_counted"
# Source: the copied keys of the lesson's cell on grouped queries
def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    global_layers = layers // global_every
    positions = global_layers * time + (layers - global_layers) * min(window, time)
    return positions * 2 * heads * head_dim * number_bytes


# %% edit="keys_only" code="values_forgotten"
# Source: a likely slip: keys alone
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * key_heads * head_dim * number_bytes

# %% edit="group_size" code="groups_for_heads"
# Source: a belief: the cache has one key for each query of a group
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * 2 * (heads // key_heads) * head_dim * number_bytes

# %% edit="queries_too" code="keys_of_queries_added"
# Source: a belief: queries are cached, too
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * (heads + 2 * key_heads) * head_dim * number_bytes

# %% edit="elements" code="elements_for_bytes"
# Source: a likely slip: numbers are counted
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * 2 * key_heads * head_dim

# %% edit="mebibytes" code="mebibytes_for_bytes"
# Source: the table of the notebook is in MiB
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * 2 * key_heads * head_dim * number_bytes / MIB

# %% edit="local_only" code="all_layers_local"
# Source: a likely slip: global layers are left out of account
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = layers * min(window, time)

# %% edit="full_window" code="window_larger_than_the_sequence"
# Source: a likely slip: the sequence is taken to be long
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = global_layers * time + (layers - global_layers) * window

# %% edit="swapped" code="local_and_global_swapped"
# Source: a likely slip: global_every read as local_every
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = (layers - global_layers) * time + global_layers * min(window, time)

# %% edit="ratio" code="ratio_for_period"
# Source: reports that say "5 local layers to 1 global"
# -     global_layers = layers // global_every
# +     global_layers = layers // (global_every + 1)

# %% edit="one_head" code="heads_forgotten"
# Source: a likely slip: a head is taken for a layer
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * 2 * head_dim * number_bytes

# %% edit="longer" code="longer_for_shorter"
# Source: a likely slip: max for min
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = global_layers * time + (layers - global_layers) * max(window, time)

# %% edit="count" code="period_for_count"
# Source: a belief: global_every says how many layers are global
# -     global_layers = layers // global_every
# +     global_layers = global_every

# %% edit="window_everywhere" code="local_layers_miscounted"
# Source: a likely slip: global layers are not subtracted
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = global_layers * time + layers * min(window, time)

# %% edit="bits" code="position_miscounted"
# Source: a likely slip: bits for bytes
# -     return positions * 2 * key_heads * head_dim * number_bytes
# +     return positions * 2 * key_heads * head_dim * number_bytes * 8

# %% edit="values_of_all_positions" code="local_positions_miscounted"
# Source: a belief: the window cuts the keys, and values are all kept
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = global_layers * time + (layers - global_layers) * (min(window, time) + time) / 2

# %% edit="last_block" code="local_positions_miscounted"
# Source: a belief: a window begins again when it is full
# -     positions = global_layers * time + (layers - global_layers) * min(window, time)
# +     positions = global_layers * time + (layers - global_layers) * (time % window or window)
