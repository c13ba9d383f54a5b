def ranks_agree(model) -> bool:
    vector = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    digest = hashlib.md5(vector.numpy().tobytes()).digest()
    own = torch.frombuffer(bytearray(digest), dtype=torch.uint8)
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return all(bool((other == own).all()) for other in everyone)
