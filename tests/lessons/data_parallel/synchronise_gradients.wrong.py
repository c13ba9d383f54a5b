# %% answer="plain_baseline" code="nothing_synchronised"
# Source: one process, as before
def synchronise_gradients(model, bucket_bytes: int):
    return lambda: None


# %% answer="copied_from_lesson" code="all_reduce_blocks"
# Source: average_after_backward of the lesson, moved into the hook
def synchronise_gradients(model, bucket_bytes: int):
    world_size = dist.get_world_size()

    def collect(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    share_and_hook(model, collect)
    return lambda: None


# %% answer="library_shortcut" code="ddp_used"
# Source: PyTorch's own wrapper
def synchronise_gradients(model, bucket_bytes: int):
    DistributedDataParallel(model)
    return lambda: None


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the bucket sizes of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# +         if sum(one.grad.nbytes for one in bucket) >= {168: 168, 100: 100, 200: 200}[bucket_bytes]:


# %% edit="one_hook" code="one_hook_reduces_all"
# Source: one hook, on the first parameter, because its gradient comes last in a chain
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# +         if parameter is next(one for one in model.parameters() if one.requires_grad):

# %% edit="not_waited_for" code="all_reduce_not_waited_for"
# Source: async_op=True for the overlap, without a wait
#           for handle, flat, parameters in started:
# -             handle.wait()

# %% edit="divided_before_arrival" code="gradients_summed"
# Source: the division in the line after the start, which the sum overwrites when it arrives
# -         started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
# +         started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
# +         flat /= world_size
# ...
#               handle.wait()
# -             unpack(flat / world_size, parameters)
# +             unpack(flat, parameters)

# %% edit="waited_in_the_hook" code="waited_in_backward"
# Source: a wait right after the start
#           if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
#               send()
# +             started[-1][0].wait()

# %% edit="blocking" code="all_reduce_blocks"
# Source: all_reduce as it is by default
#           flat = pack(bucket)
# -         started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
# +         dist.all_reduce(flat)
# +         started.append((None, flat, list(bucket)))
# ...
#           for handle, flat, parameters in started:
# -             handle.wait()

# %% edit="open_bucket_forgotten" code="open_bucket_left_behind"
# Source: full buckets only
#       def finish():
# -         if bucket:
# -             send()

# %% edit="counted_parameters" code="open_bucket_left_behind"
# Source: the last hook found by a count of the parameters
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# +         arrived.append(parameter)
# +         is_last = len(arrived) == sum(one.requires_grad for one in model.parameters())
# +         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes or is_last:
#               send()
#
#       def finish():
# -         if bucket:
# -             send()
# +         arrived.clear()
# ...
# +     arrived = []
#       share_and_hook(model, collect)

# %% edit="old_ones_kept" code="old_all_reduces_kept"
# Source: a list that is never cleared
#               unpack(flat / world_size, parameters)
# -         started.clear()

# %% edit="not_unpacked" code="sums_not_put_back"
# Source: a bucket taken for a view of the gradients
#               handle.wait()
# -             unpack(flat / world_size, parameters)
# +             flat /= world_size

# %% edit="summed" code="gradients_summed"
# Source: an all-reduce taken for a mean
#               handle.wait()
# -             unpack(flat / world_size, parameters)
# +             unpack(flat, parameters)

# %% edit="divided_by_two" code="divided_by_another_number"
# Source: a run on two ranks
#               handle.wait()
# -             unpack(flat / world_size, parameters)
# +             unpack(flat / 2, parameters)

# %% edit="after_backward" code="nothing_overlaps"
# Source: buckets that are sent when all gradients are there
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# -             send()
# ...
#       def finish():
# -         if bucket:
# +         gradients = list(bucket)
# +         bucket.clear()
# +         for parameter in gradients:
# +             bucket.append(parameter)
# +             if sum(one.grad.nbytes for one in bucket) >= bucket_bytes or parameter is gradients[-1]:
# -             send()
# +                 send()

# %% edit="each_by_itself" code="one_for_each_tensor"
# Source: an all-reduce in every hook
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# -             send()
# +         send()

# %% edit="never_overfilled" code="bucket_never_overfilled"
# Source: a bucket as an upper limit
#       def collect(parameter):
# +         if bucket and sum(one.grad.nbytes for one in [*bucket, parameter]) > bucket_bytes:
# +             send()
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# -             send()

# %% edit="elements" code="elements_for_bytes"
# Source: numel, which counts numbers
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# +         if sum(one.numel() for one in bucket) >= bucket_bytes:

# %% edit="not_emptied" code="bucket_not_emptied"
# Source: a bucket that is sent and kept
#           started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
# -         bucket.clear()
# ...
#               unpack(flat / world_size, parameters)
#           started.clear()
# +         bucket.clear()

# %% edit="rank_zero_alone" code="ranks_send_differently"
# Source: a condition for what one rank prints
#           bucket.append(parameter)
# -         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes:
# +         if sum(one.grad.nbytes for one in bucket) >= bucket_bytes and dist.get_rank() == 0:

# %% edit="bucket_aliased" code="bucket_emptied_under_way"
# Source: one list for the open bucket and for the one that travels
#           flat = pack(bucket)
# -         started.append((dist.all_reduce(flat, async_op=True), flat, list(bucket)))
# +         started.append((dist.all_reduce(flat, async_op=True), flat, bucket))

# %% edit="own_gradients_divided" code="divided_not_reduced"
# Source: gradients that are all-reduced in place, where no bucket is a copy
#               handle.wait()
# -             unpack(flat / world_size, parameters)
# +             for parameter in parameters:
# +                 parameter.grad /= world_size
