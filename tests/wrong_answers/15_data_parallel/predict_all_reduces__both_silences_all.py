# Source: forgetting that the last micro-batch stands outside of no_sync
# An update with no_sync around both makes no all-reduce.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
        tensor_bytes = parameter.numel() * parameter.element_size()
        buckets += held == 0
        held += tensor_bytes
        held = 0 if held >= bucket_bytes else held
        gradient_bytes += tensor_bytes
    backwards = 0 if no_sync == "around forward and backward" else k
    return buckets * backwards, gradient_bytes * backwards
