# Wrong answers to layer_activations.

# %% edit="plain_baseline" code="attention_weights_forgotten"
# Source: activations taken to grow with the number of tokens alone
#       weights = batch * heads * time * time
# -     return 4 * (attention + feed_forward + weights)
# +     return 4 * (attention + feed_forward)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the bytes of the visible case, written down
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    return {4: 4_259_840, 8: 29_196_288, 6: 14_800_896, 1: 25_977_600}[heads]


# %% answer="copied_from_lesson" code="feed_forward_forgotten"
# Source: the layer's rules read for attention alone
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    states = batch * time * width
    return 4 * (6 * states + batch * heads * time * time)


# %% answer="library_shortcut" code="published_formula"
# Source: Korthikanti et al., s b h (34 + 5 a s / h)
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    return int(time * batch * width * (34 + 5 * heads * time / width))


# %% edit="weights_and_scores" code="attention_weights_kept_twice"
# Source: softmax is thought to keep its input
#       weights = batch * heads * time * time
# -     return 4 * (attention + feed_forward + weights)
# +     return 4 * (attention + feed_forward + 2 * weights)


# %% edit="one_head" code="heads_forgotten"
# Source: heads share the width, so they are thought to share the weights
# -     weights = batch * heads * time * time
# +     weights = batch * time * time


# %% edit="weights_for_each_feature" code="weights_for_each_feature"
# Source: the head's width multiplied in
# -     weights = batch * heads * time * time
# +     weights = batch * heads * time * time * (width // heads)
#       return 4 * (attention + feed_forward + weights)


# %% edit="three_inputs" code="input_of_each_projection"
# Source: the input of every Linear added up
# -     attention = states + states + 3 * states + states  # inputs of norm and projections; query, key, value; of output
# +     attention = states + 3 * states + 3 * states + states


# %% edit="residual_kept" code="sums_kept"
# Source: the output of the layer counted with its input
# -     feed_forward = states + states + 2 * 4 * states  # inputs of norm, grow, gelu, shrink
# +     feed_forward = states + states + 2 * 4 * states + states


# %% edit="inputs_of_linears_only" code="queries_keys_values_forgotten"
# Source: only layers with parameters are thought to keep something
# -     attention = states + states + 3 * states + states  # inputs of norm and projections; query, key, value; of output
# +     attention = states + states + states


# %% edit="no_norms" code="norm_inputs_forgotten"
# Source: norms are thought to be small
# -     attention = states + states + 3 * states + states  # inputs of norm and projections; query, key, value; of output
# -     feed_forward = states + states + 2 * 4 * states  # inputs of norm, grow, gelu, shrink
# +     attention = states + 3 * states + states
# +     feed_forward = states + 2 * 4 * states


# %% edit="value_forgotten" code="one_input_forgotten"
# Source: the second product of attention overlooked
# -     attention = states + states + 3 * states + states  # inputs of norm and projections; query, key, value; of output
# +     attention = states + states + 2 * states + states


# %% edit="gelu_in_place" code="one_wide_activation"
# Source: GELU is thought to keep nothing
# -     feed_forward = states + states + 2 * 4 * states  # inputs of norm, grow, gelu, shrink
# +     feed_forward = states + states + 4 * states


# %% edit="numbers" code="elements_for_bytes"
# Source: numbers counted
#       weights = batch * heads * time * time
# -     return 4 * (attention + feed_forward + weights)
# +     return attention + feed_forward + weights
