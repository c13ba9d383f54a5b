# Source: a division in place of a walk through the tensors
# All bytes over the bucket's, rounded up: as if tensors were cut.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [parameter.numel() * parameter.element_size() for parameter in parameters if parameter.requires_grad]
    backwards = 1 if no_sync == "around forward and backward" else k
    return -(-sum(sizes) // bucket_bytes) * backwards, sum(sizes) * backwards
