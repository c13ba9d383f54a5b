# Wrong answers to find_attention_faults.
# Not here: library_shortcut, because no library has such a test.

# %% answer="plain_baseline" code="nothing_found"
# Source: no test at all
def find_attention_faults(attend):
    return set()


# %% answer="hard_coded" code="same_for_every_function" seed=20011
# Source: the essay's account, written down
def find_attention_faults(attend):
    return {"window"}


# %% answer="copied_from_lesson" code="every_difference_is_a_window"
# Source: the comparison with eager attention that the lesson shows, for the one fault that the essay names
def find_attention_faults(attend):
    inputs = [torch.randn(1, 1, 128, 16) for _ in range(3)]
    is_equal = torch.allclose(attend(*inputs, False), eager_attention(*inputs), atol=1e-4)
    return set() if is_equal else {"window"}


# %% edit="scale_at_full_length" code="window_taken_for_a_scale"
# Source: a likely slip: one comparison with eager attention for all
# -     few = [tensor[..., :3, :] for tensor in (query, key, value)]  # nearer than any window
# +     few = query, key, value

# %% edit="scale_under_the_mask" code="mask_taken_for_a_scale"
# Source: a likely slip: the scale is tested with the mask on
# -     if not torch.allclose(attend(*few, False), eager_attention(*few), atol=1e-4):
# +     if not torch.allclose(attend(*few, True), eager_attention(*few, True), atol=1e-4):

# %% edit="mask_by_comparison" code="other_faults_taken_for_the_mask"
# Source: a likely slip: outputs are compared in place of sums
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     if not torch.allclose(attend(query, key, value, True), eager_attention(query, key, value, True), atol=1e-4):

# %% edit="mask_switched_off" code="mask_after_softmax_missed"
# Source: a likely slip: is_causal is False
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     if not torch.allclose(attend(query, key, torch.ones_like(value), False), torch.ones(()), atol=1e-4):

# %% edit="future_looked_at" code="mask_after_softmax_missed"
# Source: a belief: a mask is right if the future has no influence
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     own = torch.autograd.grad(attend(query, key, value, True)[..., 0, :].sum(), value)[0]
# +     if own[..., 1:, :].any():

# %% edit="neighbour_looked_at" code="window_missed"
# Source: a likely slip: a near key is changed
# -     if not gradient[..., 0, :].any():  # does the last query see the first key?
# +     if not gradient[..., -2, :].any():

# %% edit="window_under_the_mask" code="window_reported"
# Source: a likely slip: the first query under a causal mask
# -     gradient = torch.autograd.grad(attend(query, key, value, False)[..., -1, :].sum(), value)[0]
# -     if not gradient[..., 0, :].any():  # does the last query see the first key?
# +     gradient = torch.autograd.grad(attend(query, key, value, True)[..., 0, :].sum(), value)[0]
# +     if not gradient[..., -1, :].any():

# %% edit="one_position" code="scale_missed"
# Source: a likely slip: with a single key the softmax is 1, whatever the score
# -     few = [tensor[..., :3, :] for tensor in (query, key, value)]  # nearer than any window
# +     few = [tensor[..., :1, :] for tensor in (query, key, value)]

# %% edit="one_feature" code="scale_missed"
# Source: a likely slip: with a single feature the scale is 1
# -     few = [tensor[..., :3, :] for tensor in (query, key, value)]  # nearer than any window
# +     few = [tensor[..., :3, :1] for tensor in (query, key, value)]

# %% edit="any_growth" code="matrix_kept_reported"
# Source: a likely slip: linear growth is growth, too
# -     if saved[1].total_bytes > 3 * saved[0].total_bytes:
# +     if saved[1].total_bytes > saved[0].total_bytes:

# %% edit="short_rows" code="matrix_kept_missed"
# Source: a likely slip: at few positions the matrix is small next to the inputs
# -     saved = [measure_saved_tensors(lambda time=time: attend(*draw(1, 1, time, 16), False)) for time in (256, 512)]
# +     saved = [measure_saved_tensors(lambda time=time: attend(*draw(1, 1, time, 16), False)) for time in (4, 8)]

# %% edit="first_fault" code="missed_next_to_another"
# Source: a likely slip: return at the first fault
# -     return faults
# +     order = ("window", "scale", "mask_after_softmax", "matrix_kept")
# +     return {next(name for name in order if name in faults)} if faults else set()

# %% edit="after_the_others" code="missed_next_to_another"
# Source: a likely slip: a chain of tests
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     if not faults and not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):

# %% edit="six_positions" code="window_taken_for_a_scale"
# Source: a likely slip: the distance of the first and the last of 6 positions is 5, and a window may end at 4
# -     few = [tensor[..., :3, :] for tensor in (query, key, value)]  # nearer than any window
# +     few = [tensor[..., :6, :] for tensor in (query, key, value)]

# %% edit="one_length" code="matrix_kept_reported"
# Source: a belief: whatever is kept above SDPA's bytes is a matrix
# -     if saved[1].total_bytes > 3 * saved[0].total_bytes:
# +     if saved[0].total_bytes > (4 * 16 + 1) * 256 * 4:

# %% edit="many_bytes" code="matrix_kept_reported"
# Source: an absolute limit
# -     if saved[1].total_bytes > 3 * saved[0].total_bytes:
# +     if saved[1].total_bytes > MIB:

# %% edit="without_gradients" code="matrix_kept_missed"
# Source: a likely slip: nothing is saved for inputs that need no gradient
# -     saved = [measure_saved_tensors(lambda time=time: attend(*draw(1, 1, time, 16), False)) for time in (256, 512)]
# +     inputs = [[each.detach() for each in draw(1, 1, time, 16)] for time in (256, 512)]
# +     saved = [measure_saved_tensors(lambda own=own: attend(*own, False)) for own in inputs]

# %% edit="last_row_only" code="mask_after_softmax_missed"
# Source: a likely slip: the last query, which sees every key
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     last = attend(query, key, torch.ones_like(value), True)[..., -1, :]
# +     if not torch.allclose(last, torch.ones(()), atol=1e-4):

# %% edit="other_names" code="unknown_name"
# Source: a likely slip: names of one's own
# -         faults.add("matrix_kept")
# +         faults.add("quadratic")

# %% edit="last_digit" code="scale_reported"
# Source: a likely slip: results of two kernels are compared without a tolerance
# -     if not torch.allclose(attend(*few, False), eager_attention(*few), atol=1e-4):
# +     if not torch.equal(attend(*few, False), F.scaled_dot_product_attention(*few)):

# %% edit="condition_inverted" code="mask_after_softmax_missed"
# Source: a likely slip: a not is left out
# -     if not torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
# +     if torch.allclose(attend(query, key, torch.ones_like(value), True), torch.ones(()), atol=1e-4):
