def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    def count(sizes):
        if not sizes:
            return 0
        held = 0
        for index, size in enumerate(sizes, start=1):
            held += size
            if held >= bucket_bytes:
                return 1 + count(sizes[index:])
        return 1

    sizes = [p.numel() * p.element_size() for p in reversed(parameters) if p.requires_grad]
    times = k if no_sync != "around forward and backward" else 1
    return [count(sizes) * times, torch.tensor(sum(sizes) * times)]
