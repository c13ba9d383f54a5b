# Source: hooks without buckets
# Each trained tensor is an all-reduce of its own.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [parameter.numel() * parameter.element_size() for parameter in parameters if parameter.requires_grad]
    backwards = 1 if no_sync == "around forward and backward" else k
    return len(sizes) * backwards, sum(sizes) * backwards
