# Right answers to diagnose_trace.


# %% answer="merged_intervals"
def diagnose_trace(events, flops_per_second, bytes_per_second):
    begin = min(e["ts"] for e in events if e["name"] == "ProfilerStep#1")
    kernels = [e for e in events if e["cat"] == "kernel" and e["ts"] >= begin]
    merged = []
    for kernel in kernels:
        left, right = kernel["ts"], kernel["ts"] + kernel["dur"]
        if merged and left <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], right)
        else:
            merged.append([left, right])
    length = merged[-1][1] - begin
    busy = sum(right - left for left, right in merged)
    if busy / length >= 0.7:
        needs = [sum(k["args"][key] for k in kernels) for key in ("flops", "bytes")]
        return "compute" if needs[0] / needs[1] > flops_per_second / bytes_per_second else "memory"
    loader = sum(e["dur"] for e in events if begin <= e["ts"] < begin + length and "DataLoader" in e["name"])
    for e in events:
        if "DataLoader" in e["name"] and e["ts"] >= begin:
            loader -= sum(max(0, min(e["ts"] + e["dur"], right) - max(e["ts"], left)) for left, right in merged)
    return "data" if loader * 2 > length - busy else "launch"


# %% answer="gaps_summed"
def diagnose_trace(events, flops_per_second, bytes_per_second):
    start = next(e["ts"] for e in events if e["name"] == "ProfilerStep#1")
    later = [e for e in events if e["ts"] >= start]
    gap, reached = 0.0, start
    flops = moved = loading = 0.0
    loads = [e for e in later if "DataLoader" in e["name"]]
    for event in later:
        if event["cat"] == "kernel":
            if event["ts"] > reached:
                gap += event["ts"] - reached
                loading += sum(max(0.0, min(event["ts"], e["ts"] + e["dur"]) - max(reached, e["ts"])) for e in loads)
            reached = max(reached, event["ts"] + event["dur"])
            flops += event["args"]["flops"]
            moved += event["args"]["bytes"]
    if gap <= 0.3 * (reached - start):
        return ("memory", "compute")[flops / flops_per_second > moved / bytes_per_second]
    return "data" if loading > gap / 2 else "launch"


# %% answer="by_edges"
def diagnose_trace(events, flops_per_second, bytes_per_second):
    start = [e for e in events if e["name"] == "ProfilerStep#1"][0]["ts"]
    kernels = [e for e in events if e["ts"] >= start and e["cat"] == "kernel"]
    end = max(k["ts"] + k["dur"] for k in kernels)
    loads = [e for e in events if "DataLoader" in e["name"] and start <= e["ts"] < end]
    edges = [(e["ts"], kind, 1) for kind, group in enumerate((kernels, loads)) for e in group]
    edges += [(min(e["ts"] + e["dur"], end), kind, -1) for kind, group in enumerate((kernels, loads)) for e in group]
    busy = loading = 0.0
    running, last = [0, 0], start
    for moment, kind, change in sorted(edges):
        busy += (moment - last) * (running[0] > 0)
        loading += (moment - last) * (running[0] == 0 and running[1] > 0)
        running[kind] += change
        last = moment
    if busy < 0.7 * (end - start):
        return "launch" if loading < (end - start - busy) / 2 else "data"
    compute = sum(k["args"]["flops"] / flops_per_second for k in kernels)
    return "compute" if compute > sum(k["args"]["bytes"] / bytes_per_second for k in kernels) else "memory"
