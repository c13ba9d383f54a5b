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
