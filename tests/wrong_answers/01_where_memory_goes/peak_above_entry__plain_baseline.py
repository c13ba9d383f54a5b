# Source: torch.cuda.max_memory_allocated(), the usual way to ask for a peak
# Nothing watches the step; the number is that of the GPU.
def peak_above_entry(step) -> int:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return torch.cuda.max_memory_allocated() - before
