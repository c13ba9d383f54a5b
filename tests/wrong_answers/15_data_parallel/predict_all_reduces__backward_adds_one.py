# Source: a switch that is believed to cost an all-reduce
# Around backward alone, no_sync adds one all-reduce.
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
    backwards = {"nowhere": k, "around backward": k + 1, "around forward and backward": 1}[no_sync]
    return buckets * backwards, gradient_bytes * backwards
