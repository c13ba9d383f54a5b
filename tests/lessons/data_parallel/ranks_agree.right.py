# %% answer="checksum"
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


# %% answer="from_rank_zero"
def number_of(model):
    digest = hashlib.blake2b(digest_size=7)
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return int.from_bytes(digest.digest(), "big")


def ranks_agree(model) -> bool:
    own = torch.tensor([number_of(model)])
    first = own.clone()
    dist.broadcast(first, src=0)
    differences = (own != first).int()
    dist.all_reduce(differences)
    return differences.item() == 0


# %% answer="gathered_digests"
def ranks_agree(model) -> bool:
    vector = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    digest = hashlib.md5(vector.numpy().tobytes()).digest()
    own = torch.frombuffer(bytearray(digest), dtype=torch.uint8)
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return all(bool((other == own).all()) for other in everyone)


# %% answer="weighted_bits"
def ranks_agree(model) -> bool:
    total = torch.zeros(1, dtype=torch.int64)
    position = 0
    for parameter in model.parameters():
        bits = parameter.detach().flatten().view(torch.int32).long()
        places = torch.arange(position, position + bits.numel())
        total += ((bits + 7) * (places * 2654435761 + 12345)).sum()
        position += bits.numel()
    pair = torch.cat([total, -total])
    dist.all_reduce(pair, op=dist.ReduceOp.MAX)
    return (pair[0] == -pair[1]).item()
