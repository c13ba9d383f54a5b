# %% answer="plain_baseline" code="buckets_and_switch_left_out"
# Source: the loop with one all-reduce for each parameter after every backward
# Neither buckets nor no_sync are known: each trained tensor is all-reduced in each of the k backwards.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return len(trained) * k, sum(parameter.numel() * parameter.element_size() for parameter in trained) * k


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    seen = SEEN[
        len(parameters), no_sync, parameters[0].element_size(), all(p.requires_grad for p in parameters), k == 1
    ]
    return seen[0], seen[1]


SEEN = {
    (8, "nowhere", 4, True, True): (4, 4224),
    (8, "nowhere", 4, True, False): (20, 21120),
    (8, "around backward", 4, True, False): (16, 16896),
    (8, "around forward and backward", 4, True, False): (4, 4224),
    (8, "around backward", 4, False, False): (10, 13200),
    (8, "around forward and backward", 2, True, False): (1, 2112),
    (8, "nowhere", 2, True, True): (4, 2112),
    (11, "nowhere", 4, False, True): (3, 4400),
    (6, "nowhere", 4, True, False): (12, 11264),
}


# %% answer="copied_from_lesson" code="one_pass_over_the_parameters"
# Source: average_after_backward of the lesson, counted
# One all-reduce for each parameter, frozen ones included, once for an update.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    return len(parameters), sum(parameter.numel() * parameter.element_size() for parameter in parameters)


# %% edit="filled_forwards" code="buckets_filled_forwards"
# Source: reading the parameters from the first to the last
#       buckets, held, gradient_bytes = 0, 0, 0
# -     for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
# +     for parameter in [parameter for parameter in parameters if parameter.requires_grad]:


# %% answer="bytes_over_bucket" code="bytes_over_bucket"
# Source: a division in place of a walk through the tensors
# All bytes over the bucket's, rounded up: as if tensors were cut.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [parameter.numel() * parameter.element_size() for parameter in parameters if parameter.requires_grad]
    backwards = 1 if no_sync == "around forward and backward" else k
    return -(-sum(sizes) // bucket_bytes) * backwards, sum(sizes) * backwards


# %% answer="never_overfilled" code="bucket_never_overfilled"
# Source: bin packing, where a bin is never overfilled
# A bucket is closed before a tensor that would take it beyond the limit.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [parameter.numel() * parameter.element_size() for parameter in parameters if parameter.requires_grad]
    backwards = 1 if no_sync == "around forward and backward" else k
    buckets, held = 0, 0
    for size in reversed(sizes):
        if not buckets or held + size > bucket_bytes:
            buckets, held = buckets + 1, 0
        held += size
    return buckets * backwards, sum(sizes) * backwards


# %% edit="closed_beyond" code="bucket_closed_beyond"
# Source: `>` for `>=`
# A bucket that holds exactly the limit stays open.
#           held += tensor_bytes
# -         held = 0 if held >= bucket_bytes else held
# +         held = 0 if held > bucket_bytes else held

# %% edit="last_bucket_left_out" code="last_bucket_left_out"
# Source: counting where a bucket is closed
# The bucket that is open at the end is not counted.
#           tensor_bytes = parameter.numel() * parameter.element_size()
# -         buckets += held == 0
#           held += tensor_bytes
# -         held = 0 if held >= bucket_bytes else held
# +         if held >= bucket_bytes:
# +             buckets, held = buckets + 1, 0

# %% edit="frozen_counted" code="frozen_counted"
# Source: forgetting that frozen parameters have no gradient
# Frozen parameters fill buckets too.
#       buckets, held, gradient_bytes = 0, 0, 0
# -     for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
# +     for parameter in reversed(parameters):


# %% answer="stops_at_frozen" code="stops_at_frozen"
# Source: break in place of continue
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed(parameters):
        if not parameter.requires_grad:
            break
        tensor_bytes = parameter.numel() * parameter.element_size()
        gradient_bytes += tensor_bytes
        held += tensor_bytes
        if held >= bucket_bytes:
            buckets, held = buckets + 1, 0
    if held:
        buckets += 1
    backwards = 1 if no_sync == "around forward and backward" else k
    return buckets * backwards, gradient_bytes * backwards


# %% edit="elements" code="elements_for_bytes"
# Source: numel() where bytes are asked for
# Buckets are filled with numbers instead of bytes.
#       for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
# -         tensor_bytes = parameter.numel() * parameter.element_size()
# +         tensor_bytes = parameter.numel()

# %% edit="four_bytes" code="four_bytes_assumed"
# Source: float32 in mind
# Every number is taken for 4 bytes.
#       for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
# -         tensor_bytes = parameter.numel() * parameter.element_size()
# +         tensor_bytes = parameter.numel() * 4

# %% edit="accumulation_left_out" code="accumulation_left_out"
# Source: an update with one backward
#           gradient_bytes += tensor_bytes
# -     backwards = 1 if no_sync == "around forward and backward" else k
# +     backwards = 1

# %% edit="backward_alone" code="backward_alone_believed"
# Source: the belief that no_sync belongs around backward
#           gradient_bytes += tensor_bytes
# -     backwards = 1 if no_sync == "around forward and backward" else k
# +     backwards = k if no_sync == "nowhere" else 1

# %% edit="bytes_of_one_backward" code="accumulation_left_out"
# Source: multiplying the calls and not the bytes
# The bytes of one backward stand for those of the update.
#       backwards = 1 if no_sync == "around forward and backward" else k
# -     return buckets * backwards, gradient_bytes * backwards
# +     return buckets * backwards, gradient_bytes


# %% answer="list_reversed" code="parameters_changed"
# Source: list.reverse
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    parameters.reverse()
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        tensor_bytes = parameter.numel() * parameter.element_size()
        gradient_bytes += tensor_bytes
        held += tensor_bytes
        if held >= bucket_bytes:
            buckets, held = buckets + 1, 0
    if held:
        buckets += 1
    backwards = 1 if no_sync == "around forward and backward" else k
    return buckets * backwards, gradient_bytes * backwards


# %% edit="swapped" code="swapped"
# Source: the two results in the wrong order
# Bytes come first.
#       backwards = 1 if no_sync == "around forward and backward" else k
# -     return buckets * backwards, gradient_bytes * backwards
# +     return gradient_bytes * backwards, buckets * backwards

# %% edit="bucket_in_32_bits" code="four_bytes_assumed"
# Source: a bucket filled by 4 bytes for each number, and the bytes by element_size()
#           buckets += held == 0
# -         held += tensor_bytes
# +         held += 4 * parameter.numel()

# %% edit="bytes_of_a_ring" code="bytes_twice"
# Source: the bytes that a ring sends
#       backwards = 1 if no_sync == "around forward and backward" else k
# -     return buckets * backwards, gradient_bytes * backwards
# +     return buckets * backwards, 2 * gradient_bytes * backwards
