# Source: list.reverse
# The list of the caller is turned round.
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
