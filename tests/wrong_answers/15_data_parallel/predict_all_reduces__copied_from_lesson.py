# Source: average_after_backward of the lesson, counted
# One all-reduce for each parameter, frozen ones included, once for an update.
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    return len(parameters), sum(parameter.numel() * parameter.element_size() for parameter in parameters)
