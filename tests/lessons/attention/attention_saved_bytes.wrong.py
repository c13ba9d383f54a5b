# Wrong answers to attention_saved_bytes.
# Not here: library_shortcut, because the meter is refused; see the answer "measured".

# %% answer="plain_baseline" code="same_for_both"
# Source: the three lines of the lesson, whatever runs
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    return rows * heads * (3 * time * head_dim + time * time) * number_bytes


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the bytes of the visible cases, read off the messages of failed checks
from itertools import cycle

VISIBLE = cycle([19922944, 4210688, 73400320, 8421376, 33030144, 18948096, 1889280, 2217600])


def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    return next(VISIBLE)


# %% answer="copied_from_lesson" code="scores_kept_too"
# Source: the three lines, with every result counted as kept
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    tensor = rows * heads * time * head_dim * number_bytes
    if is_fused:
        return 4 * tensor + rows * heads * time * 4
    return 4 * tensor + 2 * rows * heads * time * time * number_bytes


# %% edit="output_of_eager" code="output_kept_by_eager"
# Source: a belief: every result is kept
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     return 4 * tensor_bytes + queries * time * number_bytes

# %% edit="no_matrix" code="matrix_forgotten"
# Source: a belief: activations grow with the sequence
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     return 3 * tensor_bytes

# %% edit="one_matrix" code="one_matrix_for_all_heads"
# Source: a likely slip: heads are left out of the matrix
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     return 3 * tensor_bytes + rows * time * time * number_bytes

# %% edit="output_missing" code="output_forgotten"
# Source: a likely slip: only inputs are kept
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 3 * tensor_bytes + queries * 4

# %% edit="no_logsumexp" code="logsumexp_forgotten"
# Source: a likely slip: the small tensor is neglected
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 4 * tensor_bytes

# %% edit="short_logsumexp" code="logsumexp_in_16_bits"
# Source: a likely slip: one format for all
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 4 * tensor_bytes + queries * number_bytes

# %% edit="two_numbers" code="two_statistics"
# Source: the first algorithm of the paper, which stores the highest score and the sum
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 4 * tensor_bytes + 2 * queries * 4

# %% edit="one_head" code="too_few_logsumexps"
# Source: a likely slip: heads are left out of the statistic
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 4 * tensor_bytes + rows * time * 4

# %% edit="wide_statistic" code="logsumexp_with_features"
# Source: a belief: one more tensor of the same shape
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 5 * tensor_bytes

# %% edit="weights_in_both" code="fused_keeps_the_matrix"
# Source: a belief: backward needs the weights, so somebody must keep them
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# +         return 4 * tensor_bytes + queries * time * number_bytes

# %% edit="inputs_left_out" code="inputs_forgotten"
# Source: a belief: inputs belong to the layer before
# -     if is_fused:
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     if is_fused:
# +         return tensor_bytes + queries * 4
# +     return queries * time * number_bytes

# %% edit="four_bytes" code="always_four_bytes"
# Source: a likely slip: float32 is taken for granted
# -     tensor_bytes = queries * head_dim * number_bytes
# -     if is_fused:
# +     number_bytes = 4
# +     tensor_bytes = queries * head_dim * number_bytes
# +     if is_fused:

# %% edit="mebibytes" code="mebibytes_for_bytes"
# Source: the table of the notebook is in MiB
# -     if is_fused:
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     if is_fused:
# +         return (4 * tensor_bytes + queries * 4) / MIB
# +     return (3 * tensor_bytes + queries * time * number_bytes) / MIB

# %% edit="elements" code="elements_for_bytes"
# Source: a likely slip: numbers are counted
# -     tensor_bytes = queries * head_dim * number_bytes
# -     if is_fused:
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     tensor_bytes = queries * head_dim
# +     if is_fused:
# +         return 4 * tensor_bytes + queries
# +     return 3 * tensor_bytes + queries * time


# %% answer="measured" code="saved_tensors_measured"
# Source: the meter of the lesson
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    inputs = draw(rows, heads, time, head_dim)
    attend = F.scaled_dot_product_attention if is_fused else eager_attention
    return measure_saved_tensors(lambda: attend(*inputs)).total_bytes


# %% answer="swapped" code="forms_swapped"
# Source: a flag read the wrong way
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    one = rows * heads * time * head_dim * number_bytes
    if is_fused:
        return 3 * one + rows * heads * time * time * number_bytes
    return 4 * one + rows * heads * time * 4


# %% edit="one_row" code="rows_forgotten"
# Source: a likely slip: the first shapes of the notebook have one row
# -     queries = rows * heads * time
# +     queries = heads * time

# %% edit="features_of_all_heads" code="head_dim_shared_by_the_heads"
# Source: a belief: head_dim is the width of the model
# -     tensor_bytes = queries * head_dim * number_bytes
# +     tensor_bytes = rows * time * head_dim * number_bytes

# %% edit="bits" code="same_factor"
# Source: a likely slip: bits for bytes
# -         return 4 * tensor_bytes + queries * 4  # query, key, value, output; logsumexp in float32
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +         return 8 * (4 * tensor_bytes + queries * 4)
# +     return 8 * (3 * tensor_bytes + queries * time * number_bytes)

# %% edit="at_least_the_query" code="short_sequences_only"
# Source: a belief: a matrix is never smaller than the tensors that make it
# -     return 3 * tensor_bytes + queries * time * number_bytes  # query, key, value; weights
# +     return 3 * tensor_bytes + queries * max(time, head_dim) * number_bytes


# %% answer="causal_half" code="other_tensors_counted"
# Source: "a causal mask halves attention"
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    one = rows * heads * time * head_dim * number_bytes
    if is_fused:
        return 4 * one + rows * heads * time * 4
    return 3 * one + rows * heads * time * time * number_bytes // 2
