# Source: the first backward of DDP, which has one bucket
# All gradients go in one all-reduce.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [parameter.numel() * parameter.element_size() for parameter in parameters if parameter.requires_grad]
    backwards = 1 if no_sync == "around forward and backward" else k
    return backwards, sum(sizes) * backwards
