# Source: the first backward, which forms the buckets, counted too
# k + 1 backwards synchronise.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed(parameters):
        if not parameter.requires_grad:
            continue
        tensor_bytes = parameter.numel() * parameter.element_size()
        gradient_bytes += tensor_bytes
        held += tensor_bytes
        if held >= bucket_bytes:
            buckets, held = buckets + 1, 0
    if held:
        buckets += 1
    backwards = 1 if no_sync == "around forward and backward" else k + 1
    return buckets * backwards, gradient_bytes * backwards
