"""Judges the predicted peak of one update of a chain."""

from __future__ import annotations

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

TOLERANCE = 0.02  # what single operations need for a moment, and step counters, take about 1 % of a case's peak


def step_peak(blocks: int, width: int, hidden: int, batch: int) -> float:
    """Return the bytes at the peak of an update, by the kinds alone."""
    model = blocks * (2 * width * hidden + width + hidden)
    state = 2 * model
    activations = blocks * batch * (2 * hidden + width)
    return 4 * (model + state + batch * width + max(activations, model))


# The parts of the reference that misconceptions edit.
BLOCK = "(2 * width * hidden + width + hidden)"
STATE = "state = 2 * model"
KEPT = "(2 * hidden + width)"
LARGER = "max(activations, model)"
RETURNED = f"4 * (model + state + batch * width + {LARGER})"

TABLE = ReferenceTable(
    step_peak,
    Misconception(
        "update_forgotten",
        "You compute only the moment when backward begins, or an update without gradients. With a small batch the "
        "update holds more: all gradients.",
        {LARGER: "activations"},
    ),
    Misconception(
        "backward_forgotten",
        "You compute only the update, or the activations of one block. With a large batch, more is held when backward "
        "begins: the activations of all blocks.",
        {LARGER: "model"},
    ),
    Misconception(
        "all_kinds_added",
        "You add gradients to activations, but they are never all held at one moment: zero_grad() has freed the "
        "gradients of the step before. Compute both moments and take the larger.",
        {LARGER: "(activations + model)"},
    ),
    Misconception(
        "smaller_moment",
        "You return the smaller of the two moments. The peak is the larger one.",
        {LARGER: "min(activations, model)"},
    ),
    Misconception(
        "moments_added",
        "You add or average two moments that follow each other. Take the larger one.",
        {RETURNED: "4 * (2 * (model + state + batch * width) + activations + model)"},
        variants=[{LARGER: "(activations + model) / 2"}],
    ),
    Misconception(
        "state_forgotten",
        "You leave out the optimizer state. AdamW keeps two moments for each parameter, from the first update on.",
        {STATE: "state = 0"},
    ),
    Misconception(
        "two_of_three_counted",
        "You count two numbers for each parameter at both moments, as for SGD with momentum. Three are held: the "
        "parameter and the two that AdamW remembers.",
        {STATE: "state = model"},
    ),
    Misconception(
        "first_iteration",
        "You leave out the optimizer state when backward begins, as in the first update. From the second one on it is "
        "held there, too.",
        {RETURNED: "4 * (model + batch * width + max(activations, state + model))"},
    ),
    Misconception(
        "outputs_of_blocks_only",
        "You count one activation of `width` for each block. GELU keeps its input, and the second Linear its own, each "
        "of `hidden` numbers a row.",
        {KEPT: "width"},
    ),
    Misconception(
        "one_hidden_activation",
        "You count one activation of `hidden` numbers for each row of a block. GELU keeps its input, and the second "
        "Linear keeps what GELU returns.",
        {KEPT: "(hidden + width)"},
        variants=[{KEPT: "hidden"}],
    ),
    Misconception(
        "linear_inputs_forgotten",
        "You leave out the input of the first Linear of each block: `width` numbers a row.",
        {KEPT: "(2 * hidden)"},
    ),
    Misconception(
        "outputs_counted_twice",
        "You count the output of a block and the input of the next one, but they are one tensor.",
        {KEPT: "(2 * hidden + 2 * width)"},
    ),
    Misconception(
        "activations_counted_twice",
        "You count every activation twice, as an output and as the input of what follows. It is one tensor.",
        {KEPT: "2 * (2 * hidden + width)"},
    ),
    Misconception(
        "third_hidden_activation",
        "You count three activations of `hidden` for each row of a block. There are two: before and after GELU.",
        {KEPT: "(3 * hidden + width)"},
    ),
    Misconception(
        "gradients_counted_twice",
        "You count one number too many for each parameter. Gradients are held in the update only, where the maximum "
        "counts them already.",
        {STATE: "state = 3 * model"},
    ),
    Misconception(
        "buffers_for_all_parameters",
        "You count buffers for all parameters at once in the update, as foreach=True has them. With foreach=False "
        "there are those of one tensor only.",
        {LARGER: "max(activations, 2 * model)"},
        variants=[{LARGER: "max(activations, 3 * model)"}],
    ),
    Misconception(
        "threshold_of_the_lesson",
        "You switch between the moments at 228 rows, where they meet for the lesson's chain. Compute both.",
        {LARGER: "(activations if batch > 228 else model)"},
    ),
    Misconception(
        "one_weight_for_each_block",
        "You count one weight for each block. It has two: one of each Linear.",
        {BLOCK: "(width * hidden + width + hidden)"},
    ),
    Misconception(
        "one_block_counted",
        "You count the parameters of one block. Multiply them by `blocks`.",
        {"model = blocks *": "model ="},
    ),
    Misconception(
        "hidden_taken_for_four_widths",
        "You take `hidden` to be four times `width`, as in the lesson's chain. Use the argument `hidden`.",
        {"model = blocks": "hidden = 4 * width; model = blocks"},
    ),
    Misconception(
        "elements_for_bytes",
        "You count numbers. Each takes 4 bytes in float32.",
        {RETURNED: RETURNED.removeprefix("4 * ")},
    ),
    Misconception(
        "another_size_of_a_number",
        "You count 2 or 8 bytes for each number. A number of float32 takes 4.",
        variants=[{RETURNED: RETURNED.replace("4 *", f"{size} *", 1)} for size in (2, 8)],
    ),
    Misconception(
        "another_unit_for_bytes",
        "You return MiB, MB, GiB or GB. Return bytes.",
        variants=[{RETURNED: f"{RETURNED} / {unit}"} for unit in ("2**20", "10**6", "2**30", "10**9")],
    ),
    hard_coded(step_cases),
    Misconception(
        "same_for_all_chains",
        "You return the same number for all chains. Compute it from the four arguments.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    run=lambda step_peak, case: step_peak(case.blocks, case.width, case.hidden, case.batch),
    cases=step_cases,
    is_near=within(relative=TOLERANCE),
)


def judge_step_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the sum of the kinds, and name what explains a miss."""
    predicted = observation.facts["predicted_bytes"]
    answer = TABLE.answer(seed, predicted)
    if answer.is_right:
        ratios = [value / truth for value, truth in zip(predicted, TABLE.truths(seed), strict=True)]
        furthest = max(ratios, key=lambda ratio: abs(ratio - 1))
        return Verdict(PASSED, "", f"{len(ratios)} peaks, at most {abs(furthest - 1):.1%} from the kinds alone")
    return TABLE.explain(
        answer,
        expected=f"{format_bytes(answer.truth)}, within {TOLERANCE:.0%}, for {_describe(answer.case)}",
        measured=f"{format_bytes(answer.value)}, {answer.value / answer.truth:.4g} times that; "
        f"{len(answer.wrong)} of {len(predicted)} peaks are wrong",
        otherwise="You count other kinds than those that are held. Make a table with two columns, backward begins and "
        "the update, and decide for each kind in which of them it is held.",
    )


def _describe(case: ChainStep) -> str:
    return f"{case.blocks} blocks, width {case.width}, hidden {case.hidden}, batch {case.batch}"
