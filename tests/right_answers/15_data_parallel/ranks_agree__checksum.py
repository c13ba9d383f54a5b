# Source: zlib.crc32, and one all-reduce
# A checksum of 32 bits and its negative: their maxima are the largest and the smallest.
def ranks_agree(model) -> bool:
    import zlib

    checksum = 0
    for parameter in model.parameters():
        checksum = zlib.crc32(parameter.detach().numpy().tobytes(), checksum)
    both = torch.tensor([checksum, -checksum])
    dist.all_reduce(both, op=dist.ReduceOp.MAX)
    return bool(both[0] == -both[1])
