# Wrong answers to train_scheduled.
# Not here: hard_coded, because what a model ends with cannot be written down.
# Not here: library_shortcut, because no library has an entry point for one group.

# %% answer="plain_baseline" code="update_each_micro_batch"
# Source: an ordinary training loop
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k, max_norm):
    norms = []
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
        optimizer.step()
        scheduler.step()
    return norms


# %% answer="copied_from_lesson" code="clipped_each_micro_batch"
# Source: the demonstration above the exercise
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k, max_norm):
    norms = []
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        norms.append(norm.item())
        optimizer.step()
        scheduler.step()
    return norms


# %% edit="schedule_in_the_inner_loop" code="schedule_stepped_each_micro_batch"
# Source: scheduler.step() left after backward()
#               (loss_function(model(inputs), targets) / len(group)).backward()
# +             scheduler.step()
# ...
# -         scheduler.step()

# %% edit="schedule_first" code="schedule_before_the_update"
# Source: PyTorch before 1.1
# -         optimizer.step()
# -         scheduler.step()
# +         scheduler.step()
# +         optimizer.step()

# %% edit="schedule_forgotten" code="schedule_never_stepped"
# Source: the line left out
# -         scheduler.step()

# %% edit="clip_forgotten" code="not_clipped"
# Source: the norm computed by hand, and nothing scaled
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())

# %% edit="schedule_twice" code="two_steps_each_update"
# Source: a call left over from an earlier version
#           scheduler.step()
# +         scheduler.step()

# %% edit="clip_values" code="clipped_by_value"
# Source: clip_grad_value_ for clip_grad_norm_
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.nn.utils.get_total_norm(p.grad for p in model.parameters()).item())
# +         torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)

# %% edit="norm_after" code="norm_after_clipping"
# Source: the norm measured after the call
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# +         norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())

# %% edit="always_scaled" code="scaled_up_to_the_norm"
# Source: gradient normalisation in place of clipping
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9).item())
# +         for p in model.parameters():
# +             p.grad.mul_(max_norm / norms[-1])

# %% edit="clip_each_tensor" code="clipped_each_tensor"
# Source: clipping inside a loop over the parameters
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())
# +         for p in model.parameters():
# +             torch.nn.utils.clip_grad_norm_(p, max_norm)

# %% edit="loss_whole" code="loss_not_divided"
# Source: the division forgotten
# -             (loss_function(model(inputs), targets) / len(group)).backward()
# +             loss_function(model(inputs), targets).backward()

# %% edit="divided_by_k" code="last_group_divided_by_k"
# Source: Hugging Face guide, perf_train_gpu_one, v4.30
# -             (loss_function(model(inputs), targets) / len(group)).backward()
# +             (loss_function(model(inputs), targets) / k).backward()

# %% edit="never_cleared" code="gradients_never_cleared"
# Source: zero_grad forgotten
# -         optimizer.zero_grad()

# %% edit="cleared_for_each_micro_batch" code="only_the_last_micro_batch"
# Source: zero_grad next to backward, as in a loop without accumulation
# -         optimizer.zero_grad()
#           for inputs, targets in group:
# +             optimizer.zero_grad()

# %% edit="updated_inside_the_group" code="update_each_micro_batch"
# Source: optimizer.step() left in the inner loop, the schedule moved out of it
#               (loss_function(model(inputs), targets) / len(group)).backward()
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# -         optimizer.step()
# +             norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
# +             optimizer.step()
# +             optimizer.zero_grad()
# +         norms.append(norm)

# %% edit="clip_full_groups" code="short_group_not_clipped"
# Source: everything of an update inside `if (index + 1) % k == 0`, and the rest patched in later
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         limit = max_norm if len(group) == k else math.inf
# +         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), limit).item())

# %% edit="schedule_full_groups" code="schedule_stepped_for_full_groups"
# Source: as above
# -         scheduler.step()
# +         if len(group) == k:
# +             scheduler.step()

# %% edit="norm_limit_times_group" code="another_max_norm"
# Source: max_norm scaled with the group
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm * len(group)).item())

# %% edit="cleared_too_early" code="cleared_before_the_update"
# Source: zero_grad moved above step
# -         optimizer.step()
# +         optimizer.zero_grad()
# +         optimizer.step()

# %% edit="norm_of_another_order" code="other_first_norm"
# Source: norm_type=1
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1).item())

# %% edit="norm_of_each_micro_batch" code="other_count_of_norms"
# Source: norms logged in the inner loop
#               (loss_function(model(inputs), targets) / len(group)).backward()
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +             norms.append(torch.nn.utils.get_total_norm(p.grad for p in model.parameters()).item())
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% edit="clip_by_another_norm" code="other_update"
# Source: the norm logged by hand, the clipping by the largest element
# -         norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
# +         norms.append(torch.nn.utils.get_total_norm(p.grad for p in model.parameters()).item())
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=math.inf)

# %% edit="last_group_left_out" code="other_count_of_updates"
# Source: updates only where a group is full
# -         optimizer.step()
# +         if len(group) < k:
# +             break
# +         optimizer.step()
