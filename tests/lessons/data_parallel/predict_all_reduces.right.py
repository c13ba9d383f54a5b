# %% answer="by_nbytes"
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


# %% answer="list_of_buckets"
def predict_all_reduces(parameters: list, bucket_bytes: int, k: int, no_sync: str) -> tuple[int, int]:
    buckets = [[]]
    for parameter in parameters[::-1]:
        if not parameter.requires_grad:
            continue
        buckets[-1].append(parameter.numel() * parameter.element_size())
        if sum(buckets[-1]) >= bucket_bytes:
            buckets.append([])
    buckets = [bucket for bucket in buckets if bucket]
    synchronised = [True] if no_sync == "around forward and backward" else [True] * k
    return len(buckets) * len(synchronised), sum(map(sum, buckets)) * len(synchronised)


# %% answer="recursive"
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
