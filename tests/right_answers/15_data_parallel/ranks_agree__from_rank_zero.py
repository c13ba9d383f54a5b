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
