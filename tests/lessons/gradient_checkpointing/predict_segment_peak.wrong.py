# %% answer="plain_baseline" code="nothing_recomputed"
# Source: the plain chain, without a checkpoint
# Every block's bytes are taken to be held, whatever k is.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * (boundary_bytes + interior_bytes)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Four peaks seen once stand for a formula.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    if interior_bytes:
        return 11_230_000 if k < blocks else 31_790_000
    return 8_290_000 if k < 5 else 12_080_000


# %% answer="copied_from_lesson" code="peak_measured"
# Source: the lesson's own cell, which meters a chain in segments
# The peak of one chain is measured and taken for that of every chain.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return measure_peak_memory(**make_step(make_thin_blocks(blocks, 64), 4096, k)).peak_bytes


# %% answer="square_root" code="best_k_assumed"
# Source: essays that promise the square root of the memory
# The best k is assumed, whatever k is given.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + int(2 * (blocks * boundary_bytes * (boundary_bytes + interior_bytes)) ** 0.5)


# %% answer="every_input_kept" code="every_input_kept"
# Source: a likely slip: libraries that checkpoint each layer keep each input
# Every block's input is taken to be kept.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * boundary_bytes + k * (boundary_bytes + interior_bytes)


# %% answer="all_segments_at_once" code="every_segment_recomputed_at_once"
# Source: a likely slip: backward is taken to begin with a second forward of everything
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes + blocks * (boundary_bytes + interior_bytes)


# %% answer="divided_by_k" code="everything_divided_by_k"
# Source: a likely slip: k blocks in one checkpoint, so one k-th of the memory
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks * (boundary_bytes + interior_bytes) // k


# %% answer="inputs_forgotten" code="inputs_forgotten"
# Source: a likely slip: only the segment at work is looked at
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + k * (boundary_bytes + interior_bytes)


# %% answer="interior_forgotten" code="interior_forgotten"
# Source: the lesson's curve, whose blocks have no interior
# The interior of the segment that runs again is left out.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + (blocks // k + k) * boundary_bytes


# %% answer="k_segments" code="k_taken_for_segments"
# Source: a likely slip: `checkpoint_sequential` takes a number of segments
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + k * boundary_bytes + blocks // k * (boundary_bytes + interior_bytes)


# %% answer="larger_part" code="larger_part_only"
# Source: a likely slip: the two moments of lesson 02, where the larger one counts
# Kept inputs and segment are taken to be there at different moments.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + max(blocks // k * boundary_bytes, k * (boundary_bytes + interior_bytes))


# %% answer="one_block_recomputed" code="one_block_recomputed"
# Source: a likely slip: blocks are taken to run again one by one
# Only one block of a segment is taken to be in memory.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes + boundary_bytes + interior_bytes


# %% edit="inner_boundaries_only" code="one_boundary_too_few"
# Source: the natural count of a drawn segment: its input is kept, its output is that of the chain
# The output that a segment computes again is taken for that of the chain.
#       kept_inputs = blocks // k * boundary_bytes
# -     one_segment = k * (boundary_bytes + interior_bytes)
# +     one_segment = (k - 1) * boundary_bytes + k * interior_bytes


# %% answer="one_interior_only" code="one_interior_only"
# Source: a likely slip: backward is at one block at a time
def predict_segment_peak(parameter_bytes, boundary_bytes, interior_bytes, blocks, k):
    return parameter_bytes + (blocks // k + k + 2) * boundary_bytes + interior_bytes


# %% answer="two_boundaries_forgotten" code="output_and_buffer_forgotten"
# Source: a likely slip: the contract's two more boundaries are not read
# The output and the buffer are left out.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return parameter_bytes + blocks // k * boundary_bytes + k * (boundary_bytes + interior_bytes)


# %% answer="recompute_forgotten" code="recompute_forgotten"
# Source: a likely slip: a checkpoint is taken to replace the activations for good
# The segment that runs again is forgotten.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    always = parameter_bytes + 2 * boundary_bytes
    return always + blocks // k * boundary_bytes


# %% answer="a_third_boundary" code="one_boundary_too_many"
# Source: a likely mistake: the input of the chain counted next to those of the segments
# The first segment's input is the chain's.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return parameter_bytes + boundary_bytes * (blocks // k + k + 3) + k * interior_bytes


# %% answer="all_interiors" code="every_interior_held"
# Source: a likely mistake: boundaries are thrown away, interiors are not
# A checkpoint is taken to free what lies between blocks only.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return parameter_bytes + boundary_bytes * (blocks // k + k + 2) + blocks * interior_bytes


# %% answer="two_segments" code="two_segments_held"
# Source: a likely mistake: the next segment runs again before the last one is freed
# Two segments are taken to overlap.
def predict_segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> int:
    return parameter_bytes + boundary_bytes * (blocks // k + 2) + 2 * k * (boundary_bytes + interior_bytes)
