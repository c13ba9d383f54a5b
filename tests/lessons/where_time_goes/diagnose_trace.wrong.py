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
    words = "data launch launch data data compute memory compute memory launch memory compute".split()
    return words[(len(calls) - 1) % 12]


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

# %% edit="from_the_first_kernel" code="wait_for_the_first_kernel_left_out"
# Source: the time in which the device is used, from its first kernel to its last
# -     idle, loading, end = 0.0, 0.0, start
# +     start = kernels[0]["ts"]
# +     idle, loading, end = 0.0, 0.0, start

# %% edit="until_the_last_step" code="window_ends_elsewhere"
# Source: the CPU's steps taken for those of the device
# -     if idle > 0.3 * (end - start):
# +     end = max(event["ts"] + event["dur"] for event in events if event["name"].startswith("ProfilerStep"))
# +     if idle > 0.3 * (end - start):

# %% edit="sum_of_durations" code="durations_added"
# Source: key_averages adds up durations
# -     if idle > 0.3 * (end - start):
# +     if sum(kernel["dur"] for kernel in kernels) < 0.7 * (end - start):

# %% edit="no_latest_end" code="another_stream_ignored"
# Source: the end of the kernel before, as on one stream
# -         end = max(end, kernel["ts"] + kernel["dur"])
# +         end = kernel["ts"] + kernel["dur"]

# %% edit="full_rates" code="judged_by_the_roofline"
# Source: the time that the kernels need, from their FLOPs and bytes
# -     if idle > 0.3 * (end - start):
# +     needed = max(
# +         sum(kernel["args"][key] for kernel in kernels) / rate
# +         for key, rate in (("flops", flops_per_second), ("bytes", bytes_per_second))
# +     )
# +     if 1e6 * needed < 0.7 * (end - start):

# %% edit="loading_first" code="loading_counted_while_the_device_works"
# Source: the row of the loader is long, so it must be the loader
# -     idle, loading, end = 0.0, 0.0, start
# +     idle, loading, end = 0.0, 0.0, start
# +     after = max(kernel["ts"] + kernel["dur"] for kernel in kernels) - start
# +     if sum(stop - begin for begin, stop in loads if start <= begin) > after / 2:
# +         return "data"

# %% edit="time_of_launches" code="launch_calls_added"
# Source: cudaLaunchKernel leads the profiler's table by CPU time
# -     if idle > 0.3 * (end - start):
# +     launches = [event for event in events if "aunch" in event["name"] and event["ts"] >= start]
# +     if idle > 0.3 * (end - start) or sum(event["dur"] for event in launches) > 0.3 * (end - start):

# %% edit="short_kernels" code="short_kernels_launch_bound"
# Source: "kernels below 10 microseconds are launch bound", read off a visible trace
# -     idle, loading, end = 0.0, 0.0, start
# +     if sum(kernel["dur"] for kernel in kernels) / len(kernels) < 8:
# +         return "launch"
# +     idle, loading, end = 0.0, 0.0, start

# %% edit="idle_means_data" code="every_gap_is_loading"
# Source: low GPU utilisation means more workers, as guides advise
# -         return "data" if loading > idle / 2 else "launch"
# +         return "data"

# %% edit="idle_means_launch" code="every_gap_is_launching"
# Source: an idle device waits for the CPU
# -         return "data" if loading > idle / 2 else "launch"
# +         return "launch"

# %% edit="all_loading" code="loading_not_cut_to_the_gaps"
# Source: the sum of the loader's row
# -         return "data" if loading > idle / 2 else "launch"
# +         loading = sum(stop - begin for begin, stop in loads if begin >= start)
# +         return "data" if loading > idle / 2 else "launch"

# %% edit="share_of_all_time" code="loading_compared_with_another_time"
# Source: the share of a row of the trace
# -         return "data" if loading > idle / 2 else "launch"
# +         return "data" if loading > (end - start) / 2 else "launch"

# %% edit="four_fifths" code="another_limit"
# Source: 80 % as the usual limit of a busy device
# -     if idle > 0.3 * (end - start):
# +     if idle > 0.2 * (end - start):

# %% edit="gemm_in_the_name" code="names_of_kernels_decide"
# Source: kernels grouped by name
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     computing = sum(kernel["dur"] for kernel in kernels if "gemm" in kernel["name"])
# +     moving = sum(kernel["dur"] for kernel in kernels if "gemm" not in kernel["name"])

# %% edit="longest_kernel" code="kernels_judged_one_by_one"
# Source: the first row of the profiler's table
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# +     longest = max(kernels, key=lambda kernel: kernel["dur"])["args"]
# +     computing, moving = longest["flops"] / flops_per_second, longest["bytes"] / bytes_per_second

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


# %% answer="vote_of_the_steps" code="busy_taken_for_idle"
# Source: each step diagnosed by itself, between its start and its end on the CPU
def diagnose_trace(events, flops_per_second, bytes_per_second):
    votes = []
    for step in (event for event in events if event["name"].startswith("ProfilerStep") and event["name"][-1] != "0"):
        start, end = step["ts"], step["ts"] + step["dur"]
        inside = [event for event in events if event["cat"] == "kernel" and start <= event["ts"] < end]
        busy, until = 0.0, start
        for kernel in inside:
            busy += max(0.0, min(end, kernel["ts"] + kernel["dur"]) - max(until, kernel["ts"]))
            until = max(until, kernel["ts"] + kernel["dur"])
        loading = sum(e["dur"] for e in events if "DataLoader" in e["name"] and start <= e["ts"] < end)
        computing = sum(kernel["args"]["flops"] for kernel in inside) / flops_per_second
        moving = sum(kernel["args"]["bytes"] for kernel in inside) / bytes_per_second
        if busy >= 0.7 * (end - start):
            votes.append("compute" if computing > moving else "memory")
        else:
            votes.append("data" if loading > 0.5 * (end - start - busy) else "launch")
    return max(set(votes), key=votes.count)


# %% edit="time_above_the_memory_roof" code="other_sums_compared"
# Source: the time by which computing exceeds moving, compared with half of moving
# -     computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
# -     moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
# -     return "compute" if computing > moving else "memory"
# +     times = [(k["args"]["flops"] / flops_per_second, k["args"]["bytes"] / bytes_per_second) for k in kernels]
# +     above = sum(max(0.0, computing - moving) for computing, moving in times)
# +     return "compute" if above > sum(moving for _, moving in times) / 2 else "memory"
