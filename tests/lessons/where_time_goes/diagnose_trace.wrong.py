# Wrong answers to diagnose_trace.
# Not here: library_shortcut, because no library diagnoses a trace in these words.

# %% answer="plain_baseline" code="gaps_ignored"
# Source: the table of kernels, sorted by time; the gaps are in no row of it
def diagnose_trace(events, flops_per_second, bytes_per_second):
    kernels = [event["args"] for event in events if event["cat"] == "kernel"]
    computing = sum(kernel["flops"] for kernel in kernels) / flops_per_second
    moving = sum(kernel["bytes"] for kernel in kernels) / bytes_per_second
    return "compute" if computing > moving else "memory"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the words that the notebook's traces have, in their order
def diagnose_trace(events, flops_per_second, bytes_per_second):
    calls = diagnose_trace.__dict__.setdefault("calls", [])
    calls.append(None)
    words = ("memory", "launch", "compute", "data", "memory", "launch", "compute", "compute", "data")
    return words[(len(calls) - 1) % 9]


# %% answer="copied_from_lesson" code="one_diagnosis_for_all"
# Source: the rate of the lesson's training step: the largest share of the peak decides
def diagnose_trace(events, flops_per_second, bytes_per_second):
    seconds = (events[-1]["ts"] - events[0]["ts"]) / 1e6
    flops = sum(event["args"]["flops"] for event in events if event["cat"] == "kernel")
    return "compute" if flops / seconds / flops_per_second > 1 else "memory"


# %% edit="with_warm_up" code="warm_up_included"
# Source: the whole trace
# -     start = next(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
# +     start = events[0]["ts"]

# %% edit="sum_of_durations" code="durations_added"
# Source: key_averages adds up durations
# -         busy += max(0.0, stop - max(end, kernel["ts"]))
# +         busy += kernel["dur"]

# %% edit="loading_first" code="loading_counted_while_the_device_works"
# Source: the row of the loader is long, so it must be the loader
# -     if busy < 0.7 * (end - start):
# -         loading = sum(event["dur"] for event in events if "DataLoader" in event["name"])
# -         return "data" if loading > (end - start - busy) / 2 else "launch"
# +     loading = sum(event["dur"] for event in events if "DataLoader" in event["name"])
# +     if loading > (end - start) / 2:
# +         return "data"
# +     if busy < 0.7 * (end - start):
# +         return "launch"

# %% edit="time_of_launches" code="launch_calls_added"
# Source: cudaLaunchKernel leads the profiler's table by CPU time
# -     if busy < 0.7 * (end - start):
# +     launching = sum(event["dur"] for event in events if "aunch" in event["name"])
# +     if busy < 0.7 * (end - start) or launching > 0.3 * (end - start):

# %% edit="short_kernels" code="short_kernels_launch_bound"
# Source: "kernels below 10 microseconds are launch bound", read off a visible trace
# -     busy, end = 0.0, start
# +     if sum(kernel["dur"] for kernel in kernels) / len(kernels) < 8:
# +         return "launch"
# +     busy, end = 0.0, start

# %% edit="idle_means_data" code="every_gap_is_loading"
# Source: low GPU utilisation means more workers, as guides advise
# -         return "data" if loading > (end - start - busy) / 2 else "launch"
# +         return "data"

# %% edit="idle_means_launch" code="every_gap_is_launching"
# Source: an idle device waits for the CPU
# -         return "data" if loading > (end - start - busy) / 2 else "launch"
# +         return "launch"

# %% edit="gemm_in_the_name" code="names_of_kernels_decide"
# Source: kernels grouped by name
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     computing = sum(kernel["dur"] for kernel in kernels if "gemm" in kernel["name"])
# +     moving = sum(kernel["dur"] for kernel in kernels if "gemm" not in kernel["name"])

# %% edit="majority" code="kernels_counted"
# Source: each kernel votes
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     counts = [kernel["args"] for kernel in kernels]
# +     computing = sum(c["flops"] / flops_per_second > c["bytes"] / bytes_per_second for c in counts)
# +     moving = len(kernels) - computing

# %% edit="ridge_of_the_notebook" code="rates_of_one_device"
# Source: the A100's ridge, 153 FLOPs per byte
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     computing = sum(kernel["args"]["flops"] for kernel in kernels)
# +     moving = 153 * sum(kernel["args"]["bytes"] for kernel in kernels)

# %% edit="no_rates" code="flops_compared_with_bytes"
# Source: more FLOPs than bytes
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     computing = sum(kernel["args"]["flops"] for kernel in kernels)
# +     moving = sum(kernel["args"]["bytes"] for kernel in kernels)

# %% edit="swapped" code="faster_side_named"
# Source: the side with the higher rate
# -     return "compute" if computing > moving else "memory"
# +     return "memory" if computing > moving else "compute"
