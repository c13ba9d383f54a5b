"""Judges the bytes that a chain of element-wise operations moves, eager and fused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.compilation.traffic import Operation, TrafficCase, traffic_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def chain_traffic(
    operations: Sequence[Operation], inputs: Mapping[str, int], kept: Collection[str], elements: int, element_bytes: int
) -> dict[str, float]:
    """Return the bytes moved: eager, each operation reads and writes; fused, each input is read once."""
    eager = 0
    for _, read in operations:
        eager += sum(inputs.get(name, elements) for name in set(read))
        eager += elements
    used = {name for _, read in operations for name in read if name in inputs}
    fused = sum(inputs[name] for name in used)
    fused += len(kept) * elements
    return {"eager": eager * element_bytes, "fused": fused * element_bytes}


def judge_predicted_traffic(observation: Observation, seed: int) -> Verdict:
    """Compare the bytes of the eager chain, then those of the fused one."""
    whole = TABLE.answer(seed, observation.facts["answers"])
    if whole.is_right:
        return Verdict(PASSED, "", f"{len(whole.values)} chains right, eager and fused")
    for key in ("eager", "fused"):
        part = whole.part(key)
        if part.is_right:
            continue
        case: TrafficCase = part.case
        makes = f"{len(case.operations)} operations on {case.elements:,} numbers of {case.element_bytes} bytes"
        expected = f"{key}: {part.truth:,} bytes for {makes}"
        measured = f"{part.value:,.10g} bytes, {part.value / part.truth:.4g} times that"
        results = (part.value - part.truth) / (case.elements * case.element_bytes)
        otherwise = f"You differ by {results:+.3g} times the bytes of a result. {WHERE[key]}"
        return TABLE.explain(whole, part, expected=expected, measured=measured, otherwise=otherwise)
    raise AssertionError("a wrong answer has a wrong part")


def _run(chain: Callable[..., dict[str, float]], case: TrafficCase) -> dict[str, Any]:
    arguments = (case.operations, dict(case.inputs), set(case.kept), case.elements, case.element_bytes)
    return chain(*arguments)


WHERE = {
    "eager": "For each operation, add up the tensors that it reads, each once, and the result that it writes.",
    "fused": "Add up the inputs that any operation reads, each once, and the results in `kept`.",
}
READ = "sum(inputs.get(name, elements) for name in set(read))"
WRITTEN = "        eager += elements\n"
USED = "sum(inputs[name] for name in used)"
KEPT = "len(kept) * elements"
EAGER = '"eager": eager * element_bytes'
FUSED = '"fused": fused * element_bytes'

TABLE = ReferenceTable(
    chain_traffic,
    Misconception(
        "fused_as_eager",
        "You return the eager traffic for both. A fused kernel keeps intermediate results in registers.",
        {FUSED: '"fused": eager * element_bytes'},
    ),
    Misconception(
        "pair_swapped",
        "You return the fused bytes first. The eager ones come first.",
        {EAGER: '"eager": fused * element_bytes', FUSED: '"fused": eager * element_bytes'},
    ),
    Misconception(
        "numbers_not_bytes",
        "You count numbers, not bytes, in the whole sum or in a part of it. Multiply all of it by the bytes of a "
        "number: look at the order of + and *.",
        {EAGER: '"eager": eager', FUSED: '"fused": fused'},
        variants=[{"fused += len(kept) * elements": "fused = fused / element_bytes + len(kept) * elements"}],
    ),
    Misconception(
        "mebibytes_not_bytes",
        "You return MiB. Return bytes; the notebook converts them.",
        {EAGER: '"eager": eager * element_bytes / 2**20', FUSED: '"fused": fused * element_bytes / 2**20'},
    ),
    Misconception(
        "always_four_bytes",
        "You take four bytes for every number. A chain in 16 bits moves half as much: use `element_bytes`.",
        {EAGER: '"eager": eager * 4', FUSED: '"fused": fused * 4'},
    ),
    Misconception(
        "nothing_written",
        "You count what is read, and not what is written. Every operation of an eager chain writes its result.",
        {WRITTEN: ""},
        variants=[{WRITTEN: "", KEPT: "0"}],
    ),
    Misconception(
        "nothing_read",
        "You count what is written, and not what is read. An operation fetches its inputs from memory first.",
        {READ: "0"},
        variants=[{READ: "0", USED: "0"}],
    ),
    Misconception(
        "results_stay_in_a_cache",
        "You let the eager chain read a tensor once, or a result not at all, as if a cache held it. Every operation "
        "reads all of its tensors from memory.",
        {READ: "sum(inputs.get(name, 0) for name in set(read))"},
        variants=[
            {
                READ: "0",
                EAGER: '"eager": (eager + sum(inputs.get(name, elements) for name in '
                "{name for _, read in operations for name in read})) * element_bytes",
            }
        ],
    ),
    Misconception(
        "operand_read_twice",
        "You count a tensor twice where an operation names it twice, as in `y * y`. It is read once.",
        {READ: READ.replace("set(read)", "read")},
    ),
    Misconception(
        "small_input_counted_in_full",
        "You count a bias as if it were as large as a result. Broadcasting moves only the numbers that it has.",
        {READ: "elements * len(set(read))", USED: "elements * len(used)"},
        variants=[{READ: "elements * len(set(read))"}, {USED: "elements * len(used)"}],
    ),
    Misconception(
        "one_read_an_operation",
        "You let every operation read one tensor. One with two operands reads both.",
        {READ: "elements"},
    ),
    Misconception(
        "all_results_written",
        "You let the fused kernel write every result. It writes those in `kept`; the others stay in registers.",
        {KEPT: "len(operations) * elements"},
    ),
    Misconception(
        "kept_results_forgotten",
        "You let the fused kernel write the last result only. What backward or another kernel reads later has to be "
        "written as well: look at `kept`.",
        {KEPT: "elements"},
    ),
    Misconception(
        "kept_results_written_twice",
        "You write the last result once more than `kept` says: it is in `kept` already.",
        {KEPT: "(len(kept) + 1) * elements"},
    ),
    Misconception(
        "inputs_read_for_each_operation",
        "You let the fused kernel read an input each time that an operation names it. It loads each input once.",
        {USED: "sum(inputs[name] for _, read in operations for name in read if name in inputs)"},
        variants=[{USED: "sum(inputs[name] for _, read in operations for name in set(read) if name in inputs)"}],
    ),
    Misconception(
        "unread_input_counted",
        "You count an input that no operation reads. Being an argument moves nothing.",
        {USED: "sum(inputs.values())"},
    ),
    Misconception(
        "fused_reads_nothing",
        "You let the fused kernel read nothing. Its inputs still come from memory, once.",
        {USED: "0"},
    ),
    Misconception(
        "fused_reads_as_eager",
        "You let the fused kernel read all that the eager operations read. It reads inputs only: results are in "
        "registers.",
        {USED: "eager - len(operations) * elements"},
    ),
    hard_coded(traffic_cases),
    run=_run,
    cases=traffic_cases,
)
