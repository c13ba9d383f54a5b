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
