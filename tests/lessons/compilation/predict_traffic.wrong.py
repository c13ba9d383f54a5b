# Wrong answers to predict_traffic.
# Not here: copied_from_lesson, because no demonstration counts traffic.
# Not here: hard_coded, because the notebook's chain is asked for at every seed, next to three others.

# %% answer="plain_baseline" code="fused_as_eager"
# Source: a chain without the idea of fusion
def predict_traffic(operations, inputs, kept, elements, element_bytes):
    eager = 0
    for _, read in operations:
        eager += elements + sum(inputs.get(name, elements) for name in set(read))
    return eager * element_bytes, eager * element_bytes


# %% edit="numbers" code="numbers_not_bytes"
# Source: the bytes of a number forgotten
# -     return eager * element_bytes, fused * element_bytes
# +     return eager, fused

# %% edit="four_bytes" code="always_four_bytes"
# Source: float32 taken for granted
# -     return eager * element_bytes, fused * element_bytes
# +     return eager * 4, fused * 4

# %% edit="only_reads" code="nothing_written"
# Source: traffic taken for loads
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# +     eager = sum(sizes[name] for _, read in operations for name in set(read))

# %% edit="only_writes" code="nothing_read"
# Source: traffic taken for the tensors that are made
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# +     eager = len(operations) * elements

# %% edit="square_reads_twice" code="operand_read_twice"
# Source: y * y has two operands
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# +     eager = sum(sizes[name] for _, read in operations for name in read) + len(operations) * elements

# %% edit="bias_in_full" code="small_input_counted_in_full"
# Source: broadcasting taken for a copy
# -     sizes = dict.fromkeys((result for result, _ in operations), elements) | inputs
# +     sizes = dict.fromkeys(inputs, elements) | dict.fromkeys((result for result, _ in operations), elements)

# %% edit="one_read" code="one_read_an_operation"
# Source: "each operation reads a tensor and writes one"
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# +     eager = 2 * len(operations) * elements

# %% edit="every_result_written" code="all_results_written"
# Source: a fused kernel saves loads only
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(operations) * elements

# %% edit="last_result_only" code="kept_results_forgotten"
# Source: inference, where nothing is kept for backward
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = sum(size for name, size in inputs.items() if name in read_at_all) + elements

# %% edit="output_and_kept" code="kept_results_written_twice"
# Source: the output is added to what is kept
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = sum(size for name, size in inputs.items() if name in read_at_all) + (len(kept) + 1) * elements

# %% edit="all_arguments" code="unread_input_counted"
# Source: the kernel's arguments are added up
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = sum(inputs.values()) + len(kept) * elements

# %% edit="loads_again" code="inputs_read_for_each_operation"
# Source: an input is loaded wherever it is named
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = sum(inputs.get(name, 0) for _, read in operations for name in read) + len(kept) * elements

# %% edit="swapped" code="pair_swapped"
# Source: the smaller number first
# -     return eager * element_bytes, fused * element_bytes
# +     return fused * element_bytes, eager * element_bytes

# %% edit="plus_and_times" code="numbers_not_bytes"
# Source: the order of + and *
#       fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# -     return eager * element_bytes, fused * element_bytes
# +     reads = fused - len(kept) * elements
# +     return eager * element_bytes, reads + len(kept) * elements * element_bytes

# %% edit="mebibytes" code="mebibytes_not_bytes"
# Source: the notebook prints MiB
# -     return eager * element_bytes, fused * element_bytes
# +     return eager * element_bytes / 2**20, fused * element_bytes / 2**20

# %% edit="each_tensor_once" code="results_stay_in_a_cache"
# Source: a cache that holds everything
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# -     read_at_all = {name for _, read in operations for name in read}
# +     read_at_all = {name for _, read in operations for name in read}
# +     eager = sum(sizes[name] for name in read_at_all) + len(operations) * elements

# %% edit="results_cached" code="results_stay_in_a_cache"
# Source: a result is in the cache when the next operation reads it
# -     eager = sum(sizes[name] for _, read in operations for name in set(read)) + len(operations) * elements
# +     reads = sum(inputs.get(name, 0) for _, read in operations for name in set(read))
# +     eager = reads + len(operations) * elements

# %% edit="only_writes_saved" code="fused_reads_as_eager"
# Source: fusion saves stores only
# -     fused = sum(size for name, size in inputs.items() if name in read_at_all) + len(kept) * elements
# +     fused = eager - (len(operations) - len(kept)) * elements
