# %% answer="plain_baseline" code="always_true"
# Source: trust in DDP
# Always True.
def ranks_agree(model) -> bool:
    return True


# %% answer="hard_coded" code="equal_ranks_doubted" seed=20011
# Source: the sums of the visible case
# Weights agree where their sum is one that was seen.
def ranks_agree(model) -> bool:
    return round(float(sum(p.double().sum() for p in model.parameters())), 6) in (11.595802, 1.111175)


# %% answer="copied_from_lesson" code="weights_sent"
# Source: the comparison of the lesson, with all weights of all ranks
def ranks_agree(model) -> bool:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everyone = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, weights)
    return max(float((weights - others).abs().max()) for others in everyone) == 0


# %% edit="trained_only" code="frozen_left_out"
# Source: the parameters of the optimizer
# Frozen parameters do not enter the digest.
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# +         if parameter.requires_grad:
# +             digest.update(parameter.detach().numpy().tobytes())

# %% edit="matrices_only" code="parameters_left_out"
# Source: matrices in mind
# Biases do not enter the digest.
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# +         if parameter.dim() > 1:
# +             digest.update(parameter.detach().numpy().tobytes())

# %% edit="first_rows_only" code="numbers_left_out"
# Source: a sample of each tensor
# The first row of each parameter enters the digest.
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# +         digest.update(parameter.detach()[:1].numpy().tobytes())

# %% edit="text" code="text_compared"
# Source: str(parameter) as bytes
# The text of a large tensor is shortened.
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# -     own = torch.tensor(list(digest.digest()))
# +         digest.update(str(parameter).encode())
# +     own = torch.tensor([int.from_bytes(digest.digest()[:7], "big")])


# %% answer="sum_compared" code="order_forgotten"
# Source: a sum as digest
def ranks_agree(model) -> bool:
    own = sum(parameter.detach().sum() for parameter in model.parameters())
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)


# %% answer="size_compared" code="signs_left_out"
# Source: the norm as digest
# A norm in 64 bits forgets signs and order.
def ranks_agree(model) -> bool:
    own = sum(parameter.detach().double().square().sum() for parameter in model.parameters()).sqrt()
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)


# %% answer="tolerance" code="tolerance_too_wide"
# Source: torch.allclose with rank 0
# A tolerance lets the last bits differ.
def ranks_agree(model) -> bool:
    is_near = True
    for parameter in model.parameters():
        other = parameter.detach().clone()
        dist.broadcast(other, src=0)
        is_near = is_near and torch.allclose(other, parameter.detach(), rtol=1e-5)
    answer = torch.tensor([float(is_near)])
    dist.all_reduce(answer, op=dist.ReduceOp.MIN)
    return bool(answer.item())


# %% edit="digests_combined" code="order_forgotten"
# Source: one digest for each parameter, put together by XOR
# Two parameters can change places.
# -     digest = hashlib.sha256()
# +     combined = 0
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# -     own = torch.tensor(list(digest.digest()))
# +         digest = hashlib.sha256(parameter.detach().numpy().tobytes()).digest()
# +         combined ^= int.from_bytes(digest[:7], "little")
# +     own = torch.tensor([combined])


# %% answer="weighted_sum" code="weights_as_numbers"
# Source: a sum in which each place has a weight
# A weighted sum of the numbers, which NaN and -0 do not survive.
def ranks_agree(model) -> bool:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).double()
    own = (weights * torch.arange(1, len(weights) + 1)).sum().reshape(1)
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)


# %% answer="python_hash" code="python_hash"
# Source: the built-in hash
# hash() of bytes has another salt in each process.
def ranks_agree(model) -> bool:
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    own = torch.tensor([hash(weights)])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)


# %% edit="one_byte" code="digest_too_short"
# Source: a digest cut short
# Only the first byte of the digest is compared.
#           digest.update(parameter.detach().numpy().tobytes())
# -     own = torch.tensor(list(digest.digest()))
# +     own = torch.tensor(list(digest.digest()[:1]))

# %% edit="three_bytes" code="digest_too_short"
# Source: a digest as a number of 24 bits
#           digest.update(parameter.detach().numpy().tobytes())
# -     own = torch.tensor(list(digest.digest()))
# +     own = torch.tensor([int.from_bytes(digest.digest()[:3], "big")])

# %% edit="float32" code="digest_in_float32"
# Source: torch.tensor of a float
# The number format keeps 24 bits of the 32.
#           digest.update(parameter.detach().numpy().tobytes())
# -     own = torch.tensor(list(digest.digest()))
# +     own = torch.tensor([float(int.from_bytes(digest.digest()[:4], "big"))])


# %% answer="only_rank_zero_knows" code="ranks_answer_differently"
# Source: a gather on rank 0
# Rank 0 knows, and the others answer True.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return dist.get_rank() > 0 or all(torch.equal(own, other) for other in everyone)


# %% answer="two_ranks_compared" code="rank_left_out"
# Source: a run on two ranks
# Rank 0 and rank 1 are compared, and no other.
def ranks_agree(model) -> bool:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return torch.equal(everyone[0], everyone[1])


# %% answer="weights_overwritten" code="weights_changed"
# Source: a broadcast into the parameters
# The weights of rank 0 are written into all models.
def ranks_agree(model) -> bool:
    before = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    after = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    answer = torch.tensor([int(torch.equal(before, after))])
    dist.all_reduce(answer, op=dist.ReduceOp.MIN)
    return bool(answer)


# %% edit="requires_grad_off" code="trained_parameters_changed"
# Source: numpy() refuses a tensor that requires grad
#       for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# +         digest.update(parameter.requires_grad_(False).numpy().tobytes())

# %% edit="names_hashed" code="digest_of_no_weights"
# Source: a loop over state_dict(), which gives names
# -     for parameter in model.parameters():
# -         digest.update(parameter.detach().numpy().tobytes())
# +     for name in model.state_dict():
# +         digest.update(name.encode())

# %% edit="clones_forgotten" code="compared_with_itself"
# Source: two names for one tensor
# -     smallest, largest = own.clone(), own.clone()
# +     smallest, largest = own, own

# %% edit="turned_round" code="turned_round"
# Source: a test that returns whether it found a difference
# -     return torch.equal(smallest, largest)
# +     return not torch.equal(smallest, largest)
