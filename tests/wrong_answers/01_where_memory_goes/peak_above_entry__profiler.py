# Source: PyTorch's recipe for profiling memory
# torch.profiler does the work.
def peak_above_entry(step) -> int:
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        step()
    changes = [event.cpu_memory_usage for event in profile.function_events or []]
    return max(0, sum(change for change in changes if change > 0))
