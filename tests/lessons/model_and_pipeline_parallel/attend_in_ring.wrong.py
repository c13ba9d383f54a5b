# Wrong answers to attend_in_ring.


# %% answer="plain_baseline" code="own_keys_only"
# Source: attention on the rank's own positions
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    return F.scaled_dot_product_attention(query, key, value)


# %% answer="library_shortcut" code="collected_by_the_library"
# Source: all_gather_object of keys and values
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    everywhere = [None] * world_size
    dist.all_gather_object(everywhere, (key, value))
    keys, values = (torch.cat(parts, dim=1) for parts in zip(*everywhere, strict=True))
    return F.scaled_dot_product_attention(query, keys, values)


# %% answer="copied_from_lesson" code="own_keys_only"
# Source: the tiles of lesson 12, cut from the rank's own keys
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    for keys, values in zip(key.split(2, dim=1), value.split(2, dim=1), strict=True):
        output, logsumexp = merge_share(output, logsumexp, query @ keys.mT * query.shape[-1] ** -0.5, values)
    return output


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the scales of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# -         scores = query @ key.mT * query.shape[-1] ** -0.5
# +         scores = query @ key.mT * {8: 8**-0.5, 6: 6**-0.5, 4: 0.5}[query.shape[-1]]


# %% answer="whole_sequence" code="whole_sequence_held"
# Source: a ring that collects, and one softmax at the end
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    shares = [torch.stack([key, value])]
    for _ in range(world_size - 1):
        send(shares[-1], (rank + 1) % world_size)
        shares.append(receive((rank - 1) % world_size))
    keys, values = torch.cat(shares, dim=2)
    return F.scaled_dot_product_attention(query, keys, values)


# %% edit="last_share_missing" code="one_share_missing"
# Source: N - 1 rounds, because there are N - 1 messages
# -     for step in range(world_size):
# +     for step in range(world_size - 1):


# %% edit="own_share_missing" code="one_share_missing"
# Source: passed on before it was merged
# -         scores = query @ key.mT * query.shape[-1] ** -0.5
# -         output, logsumexp = merge_share(output, logsumexp, scores, value)
#           if step < world_size - 1:
#               send(torch.stack([key, value]), (rank + 1) % world_size)
#               key, value = receive((rank - 1) % world_size)
# +             scores = query @ key.mT * query.shape[-1] ** -0.5
# +             output, logsumexp = merge_share(output, logsumexp, scores, value)


# %% edit="added" code="softmaxes_added"
# Source: a softmax for each share, and a sum
# -         output, logsumexp = merge_share(output, logsumexp, scores, value)
# +         output = output + scores.softmax(dim=-1) @ value


# %% edit="averaged" code="softmaxes_averaged"
# Source: a softmax for each share, and a mean
# -         output, logsumexp = merge_share(output, logsumexp, scores, value)
# +         output = output + scores.softmax(dim=-1) @ value / world_size


# %% edit="not_scaled" code="scaled_by_another_number"
# Source: the factor forgotten
# -         scores = query @ key.mT * query.shape[-1] ** -0.5
# +         scores = query @ key.mT


# %% edit="no_root" code="scaled_by_another_number"
# Source: divided by head_dim
# -         scores = query @ key.mT * query.shape[-1] ** -0.5
# +         scores = query @ key.mT / query.shape[-1]


# %% edit="round_too_many" code="one_step_too_many"
# Source: passed on in every round
# -         if step < world_size - 1:
# -             send(torch.stack([key, value]), (rank + 1) % world_size)
# -             key, value = receive((rank - 1) % world_size)
# +         send(torch.stack([key, value]), (rank + 1) % world_size)
# +         key, value = receive((rank - 1) % world_size)


# %% answer="direct" code="no_ring"
# Source: every rank sends its share to every other one
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    for other in range(world_size):
        if other != rank:
            send(torch.stack([key, value]), other)
    for other in range(world_size):
        keys, values = (key, value) if other == rank else receive(other)
        output, logsumexp = merge_share(output, logsumexp, query @ keys.mT * query.shape[-1] ** -0.5, values)
    return output


# %% edit="second_result_dropped" code="logsumexp_not_kept"
# Source: an underscore for the second result
# -         output, logsumexp = merge_share(output, logsumexp, scores, value)
# +         output, _ = merge_share(output, logsumexp, scores, value)


# %% answer="shares_in_a_list" code="shares_collected"
# Source: collect, then merge
def attend_in_ring(query, key, value, rank, world_size, send, receive):
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    shares = [torch.stack([key, value])]
    for _ in range(world_size - 1):
        send(shares[-1], (rank + 1) % world_size)
        shares.append(receive((rank - 1) % world_size))
    for key, value in shares:
        output, logsumexp = merge_share(output, logsumexp, query @ key.mT * query.shape[-1] ** -0.5, value)
    return output


# %% edit="no_maximum" code="large_scores_overflow"
# Source: softmax by its definition
# -     for step in range(world_size):
# +     total = 0
# +     for step in range(world_size):
# ...
# -         output, logsumexp = merge_share(output, logsumexp, scores, value)
# +         output, total = output + scores.exp() @ value, total + scores.exp().sum(dim=-1, keepdim=True)
# +         if step == world_size - 1:
# +             output = output / total


# %% edit="no_modulo" code="names_no_rank"
# Source: the neighbours of a pipeline
# -             send(torch.stack([key, value]), (rank + 1) % world_size)
# -             key, value = receive((rank - 1) % world_size)
# +             send(torch.stack([key, value]), rank + 1)
# +             key, value = receive(rank - 1)


# %% edit="own_share_again" code="own_share_sent_again"
# Source: the share sent in each round is the rank's own
# -     for step in range(world_size):
# +     own = torch.stack([key, value])
# +     for step in range(world_size):
# ...
# -             send(torch.stack([key, value]), (rank + 1) % world_size)
# +             send(own, (rank + 1) % world_size)


# %% edit="received_in_another_order" code="keys_and_values_exchanged"
# Source: two messages, received in the wrong order
# -             send(torch.stack([key, value]), (rank + 1) % world_size)
# -             key, value = receive((rank - 1) % world_size)
# +             send(key, (rank + 1) % world_size)
# +             send(value, (rank + 1) % world_size)
# +             value, key = receive((rank - 1) % world_size), receive((rank - 1) % world_size)


# %% edit="causal" code="masked"
# Source: attention of a language model
# -         scores = query @ key.mT * query.shape[-1] ** -0.5
# +         scores = query @ key.mT * query.shape[-1] ** -0.5
# +         if step > rank:
# +             scores = scores - 1e9


# %% edit="in_float32" code="computed_in_float32"
# Source: half of the bytes
# -     for step in range(world_size):
# +     dtype, query, key, value = query.dtype, query.float(), key.float(), value.float()
# +     output, logsumexp = output.float(), logsumexp.float()
# +     for step in range(world_size):
# ...
#               key, value = receive((rank - 1) % world_size)
# +     output = output.to(dtype)


# %% edit="logsumexp_of_zero" code="weights_do_not_sum_to_one"
# Source: zeros as the first logsumexp
# -     for step in range(world_size):
# +     logsumexp = torch.zeros_like(logsumexp)
# +     for step in range(world_size):


# %% edit="positions_first" code="output_of_another_form"
# Source: [positions, heads, head_dim], as flash-attn returns it
#               key, value = receive((rank - 1) % world_size)
# +     output = output.transpose(0, 1)


# %% edit="packed_in_three" code="other_bytes"
# Source: three slots, as in a packed tensor of query, key and value
# -             send(torch.stack([key, value]), (rank + 1) % world_size)
# -             key, value = receive((rank - 1) % world_size)
# +             send(torch.stack([key, key, value]), (rank + 1) % world_size)
# +             _, key, value = receive((rank - 1) % world_size)
