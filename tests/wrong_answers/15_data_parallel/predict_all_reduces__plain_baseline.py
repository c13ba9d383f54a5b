# Source: the loop with one all-reduce for each parameter after every backward
# Neither buckets nor no_sync are known: each trained tensor is all-reduced in each of the k backwards.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return len(trained) * k, sum(parameter.numel() * parameter.element_size() for parameter in trained) * k
