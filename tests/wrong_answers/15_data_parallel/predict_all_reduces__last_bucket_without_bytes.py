# Source: adding the bytes where a bucket is closed
# The last bucket is counted, and its bytes are not.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed([parameter for parameter in parameters if parameter.requires_grad]):
        tensor_bytes = parameter.numel() * parameter.element_size()
        buckets += held == 0
        held += tensor_bytes
        if held >= bucket_bytes:
            gradient_bytes, held = gradient_bytes + held, 0
    backwards = 1 if no_sync == "around forward and backward" else k
    return buckets * backwards, gradient_bytes * backwards
