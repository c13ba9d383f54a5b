def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    sizes = [p.nbytes for p in parameters if p.requires_grad]
    total, calls = sum(sizes), 0
    while sizes:
        held = 0
        while sizes and held < bucket_bytes:
            held += sizes.pop()
        calls += 1
    times = {"nowhere": k, "around backward": k, "around forward and backward": 1}[no_sync]
    return calls * times, total * times
