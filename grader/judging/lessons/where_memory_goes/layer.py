"""Judges the derived activations of one transformer layer."""

from __future__ import annotations

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.layer import layer_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

TOLERANCE = 0.02  # means and deviations of the norms, which the derivation leaves out, take less than 0.5 %


def layer_activations(batch: int, time: int, width: int, heads: int) -> float:
    """Return the bytes that one layer keeps for backward."""
    states = batch * time * width
    attention = 6 * states  # inputs of norm and projections, query, key and value, input of the output projection
    feed_forward = 2 * states + 2 * 4 * states
    weights = batch * heads * time * time
    return 4 * (attention + feed_forward + weights)


# The parts of the reference that misconceptions edit.
ATTENTION = "attention = 6 * states"
FEED_FORWARD = "2 * states + 2 * 4 * states"
WEIGHTS = "batch * heads * time * time"
RETURNED = "4 * (attention + feed_forward + weights)"


TABLE = ReferenceTable(
    layer_activations,
    Misconception(
        "attention_weights_forgotten",
        "You leave out the attention weights [batch, heads, time, time], which softmax and the product with the values "
        "keep.",
        {WEIGHTS: "0"},
    ),
    Misconception(
        "attention_weights_kept_twice",
        "You count [batch, heads, time, time] more than once. Softmax keeps its output, not the scores before it, and "
        "the next product keeps that same tensor.",
        {WEIGHTS: "2 * batch * heads * time * time"},
        variants=[{WEIGHTS: "3 * batch * heads * time * time"}],
    ),
    Misconception(
        "heads_forgotten",
        "You count attention weights of one head, or of one sequence. Each head of each sequence has its own "
        "[time, time].",
        {WEIGHTS: "batch * time * time"},
        variants=[{WEIGHTS: "heads * time * time"}],
    ),
    Misconception(
        "weights_for_each_feature",
        "You multiply the attention weights by the width or the head's width. They are [batch, heads, time, time].",
        {WEIGHTS: "batch * time * time * width"},
        variants=[{WEIGHTS: "batch * time * time * (width // heads)"}],
    ),
    Misconception(
        "input_of_each_projection",
        "You count two tensors [batch, time, width] too many. Queries, keys and values are computed from one tensor, "
        "which is held once.",
        {ATTENTION: "attention = 8 * states"},
    ),
    Misconception(
        "sums_kept",
        "You count one tensor [batch, time, width] too many. A sum keeps nothing for backward, and the layer does not "
        "keep its output.",
        {ATTENTION: "attention = 7 * states"},
    ),
    Misconception(
        "queries_keys_values_forgotten",
        "You count three tensors [batch, time, width] too few. Look at the two products of attention, which keep both "
        "of their factors: queries, keys and values.",
        {ATTENTION: "attention = 3 * states"},
    ),
    Misconception(
        "norm_inputs_forgotten",
        "You count two tensors [batch, time, width] too few. Look at the inputs of the two norms, and at both factors "
        "of each product.",
        {ATTENTION: "attention = 4 * states"},
    ),
    Misconception(
        "one_input_forgotten",
        "You count one tensor [batch, time, width] too few. Look at the input of the layer, at that of `output`, and "
        "at what the second norm reads and returns.",
        {ATTENTION: "attention = 5 * states"},
    ),
    Misconception(
        "one_wide_activation",
        "You count one tensor of 4 * width in the feed-forward part. GELU keeps its input, and the last Linear keeps "
        "its own.",
        {FEED_FORWARD: "2 * states + 4 * states"},
    ),
    Misconception(
        "feed_forward_forgotten",
        "You leave out the feed-forward part, which keeps two tensors of 4 * width.",
        {FEED_FORWARD: "0"},
        variants=[{FEED_FORWARD: "2 * states"}],
    ),
    Misconception(
        "published_formula",
        "You use the formula of Korthikanti et al., which counts 16-bit numbers and the masks of dropout. Derive the "
        "bytes of this layer.",
        {RETURNED: "34 * states + 5 * weights"},
        variants=[{RETURNED: "2 * (34 * states + 5 * weights)"}],
    ),
    Misconception(
        "parameters_counted",
        "You count the parameters, too. Activations are asked for: the weights are held in any case.",
        {RETURNED: f"{RETURNED} + 4 * 12 * width * width"},
    ),
    Misconception("elements_for_bytes", "You count numbers. Each takes 4 bytes.", {RETURNED: RETURNED[4:]}),
    Misconception(
        "two_bytes_for_a_number", "You count 2 bytes for each number. These take 4.", {RETURNED: "2" + RETURNED[1:]}
    ),
    Misconception(
        "another_unit_for_bytes",
        "You return MiB or MB. Return bytes.",
        variants=[{RETURNED: f"{RETURNED} / {unit}"} for unit in ("2**20", "10**6")],
    ),
    hard_coded(layer_cases),
    run=lambda layer_activations, case: layer_activations(case.batch, case.time, case.width, case.heads),
    cases=layer_cases,
    is_near=within(relative=TOLERANCE),
)


def judge_layer_activations(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with what the layer keeps, and name what explains a miss."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} layers, within {TOLERANCE:.0%}")
    case = answer.case
    return TABLE.explain(
        answer,
        expected=f"{format_bytes(answer.truth)}, within {TOLERANCE:.0%}, for batch {case.batch}, time {case.time}, "
        f"width {case.width}, heads {case.heads}",
        measured=f"{format_bytes(answer.value)}, {answer.value / answer.truth:.4g} times that",
        otherwise="You count other tensors than those that are kept. Go through `forward` line by line, and give each "
        "tensor that an operation keeps its size.",
    )
