"""Judges a layer of experts with capacities: its values, and what it computes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.mixture_of_experts.dispatch import PARTS, DispatchCase, dispatch_cases, run_dispatch
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

NAMES = {"output": "an output", "tokens": "a gradient of the tokens", "gates": "a gradient of the gates"}
NAMES |= {"experts": "a gradient of the experts"}


def dispatch(tokens: Tensor, gates: Tensor, experts: nn.ModuleList, capacity_factor: float) -> Tensor:
    """Return the sum of gate times expert, over the experts that have room for a token."""
    is_sent = gates > 0
    choices = int(is_sent.sum())
    capacity = math.ceil(capacity_factor * choices / len(experts))
    place = is_sent.cumsum(dim=0)
    kept = gates * (is_sent & (place <= capacity))
    outputs = torch.stack([expert(tokens) for expert in experts], dim=1)
    return (kept.unsqueeze(-1) * outputs).sum(dim=1)


def judge_dispatched_tokens(observation: Observation, seed: int) -> Verdict:
    """Compare outputs, then gradients."""
    cases = dispatch_cases(seed)
    values = [{name: observation.tensors[f"{name}.{index}"] for name in PARTS} for index in range(len(cases))]
    answer = TABLE.answer(seed, values)
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        case: DispatchCase = part.case
        return TABLE.explain(
            answer,
            part,
            expected=f"{NAMES[name]} of norm {part.truth.norm():.5g} ({case.what}, factor {case.capacity_factor:g})",
            measured=f"norm {part.value.norm():.5g}{_difference(part.value, part.truth)}",
            otherwise="Take three tokens, one expert and room for two, and write the output of each token down.",
        )
    return Verdict(PASSED, "", f"{len(cases)} layers, forward and backward, equal to a loop over all experts")


def judge_dispatch_rows(observation: Observation, seed: int) -> Verdict:
    """Judge the outputs, then the rows that each expert was called on."""
    cases = dispatch_cases(seed)
    for index, (case, calls) in enumerate(zip(cases, observation.facts["calls"], strict=True)):
        taken = [min(count, _capacity(case)) for count in _sent(case)]
        layer = Layer(case, calls, taken)
        if not is_near(observation.tensors[f"output.{index}"], TABLE.truths(seed)[index]["output"]):
            look_at = "Your output differs from the dense loop, so its rows do not count. The check above says how."
            return Verdict("rows_of_another_output", "the output of the dense loop", "another output", look_at)
        if [sum(rows) for rows in calls] != taken or any(len(rows) > 1 for rows in calls):
            return ROWS.explain(
                layer,
                expected=f"one call of each expert, on {_listed(taken)} rows ({case.what})",
                measured=f"{sum(map(len, calls))} calls, on {_listed([sum(rows) for rows in calls])} rows",
                otherwise="You call experts on other rows than those that they take. Print the shape of each input.",
            )
    return Verdict(PASSED, "", f"each expert computes what it takes, in {len(cases)} layers")


def _difference(value: Tensor, truth: Tensor) -> str:
    if value.shape != truth.shape or value.dim() != 2:
        return ""
    rows = [row for row, apart in enumerate((value - truth).abs().amax(dim=1)) if apart > 1e-9]
    return f"; {len(rows)} of {len(value)} tokens differ, the first one is token {rows[0]}" if rows else ""


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _capacity(case: DispatchCase) -> int:
    return math.ceil(case.capacity_factor * case.tokens * case.chosen / case.experts)


def _sent(case: DispatchCase) -> list[int]:
    _, gates, _ = case.draw()
    return [int(count) for count in (gates > 0).sum(dim=0)]


@dataclass(frozen=True, eq=False)
class Layer:
    """What the experts of one layer were called on.

    Attributes:
        case: The layer.
        calls: Rows of each call of each expert.
        taken: Tokens that each expert takes.
    """

    case: DispatchCase
    calls: list[list[int]]
    taken: list[int]

    @property
    def rows(self) -> list[int]:
        """Rows that each expert computes."""
        return [sum(rows) for rows in self.calls]

    @property
    def most_calls(self) -> int:
        """Calls of the expert with the most."""
        return max(map(len, self.calls))


ROWS = Table[Layer](
    Misconception(
        "experts_not_called",
        "You call no expert as a module: hooks and wrappers depend on it. Write `expert(rows)`, not `expert.forward`.",
        shown_by=lambda layer: not any(layer.calls),
    ),
    Misconception(
        "padded_to_the_capacity",
        "You fill each expert's rows up to its capacity. Frameworks do that for fixed shapes; here an expert computes "
        "only the tokens that it takes.",
        shown_by=lambda layer: set(layer.rows) == {_capacity(layer.case)},
    ),
    Misconception(
        "all_tokens_through_all_experts",
        "You run every expert on all tokens and hide the rest behind zeros. That costs as much as a dense layer of all "
        "experts: pick the rows before you call.",
        shown_by=lambda layer: all(rows >= layer.case.tokens for rows in layer.rows if rows),
    ),
    Misconception(
        "one_call_per_token",
        "You call an expert up to {most_calls} times. Collect its tokens, and call it once.",
        shown_by=lambda layer: layer.most_calls > 1,
    ),
    Misconception(
        "dropped_tokens_computed",
        "You compute tokens that are dropped afterwards. Cut the list of rows before the call.",
        shown_by=lambda layer: layer.rows == _sent(layer.case),
    ),
)


def _run(function: Any, case: DispatchCase) -> dict[str, Tensor]:
    with torch.enable_grad():
        return run_dispatch(function, case)


is_near = within(relative=1e-9, absolute=1e-10)
CAPACITY = "capacity = math.ceil(capacity_factor * choices / len(experts))"
PLACE = "place = is_sent.cumsum(dim=0)"
KEPT = "kept = gates * (is_sent & (place <= capacity))"
OUTPUTS = "outputs = torch.stack([expert(tokens) for expert in experts], dim=1)"
RETURN = "return (kept.unsqueeze(-1) * outputs).sum(dim=1)"


def _by_rows(gates: str, rows: str, places: str) -> str:
    return f"""total = torch.zeros_like(tokens)
    for i, expert in enumerate(experts):
        (rows,) = torch.where(kept[:, i] > 0)
        if len(rows):
            total = total.index_add(0, {places}, {gates} * expert({rows}))
    return total"""


LAST_EXPERT = f"""{KEPT}
    kept = kept * ((kept > 0).flip(1).cumsum(dim=1).flip(1) == 1)"""

TABLE = ReferenceTable(
    dispatch,
    Misconception(
        "nothing_dropped",
        "You drop no token. An expert takes its first tokens, up to its capacity, and leaves out the others.",
        {KEPT: "kept = gates"},
    ),
    Misconception(
        "capacity_rounded_down",
        "You round the capacity down. Round it up.",
        {CAPACITY: CAPACITY.replace("ceil", "floor")},
        variants=[{CAPACITY: "capacity = round(capacity_factor * choices / len(experts))"}],
    ),
    Misconception(
        "capacity_of_the_tokens",
        "You compute the capacity from the number of tokens. A token that is sent to two experts takes two places: "
        "count choices.",
        {CAPACITY: "capacity = math.ceil(capacity_factor * len(tokens) / len(experts))"},
        variants=[{CAPACITY: "capacity = int(capacity_factor * len(tokens)) // len(experts)"}],
    ),
    Misconception(
        "two_choices_assumed",
        "You assume two choices for each token. Count the gates that are not 0.",
        {"choices = int(is_sent.sum())": "choices = 2 * len(tokens)"},
    ),
    Misconception(
        "smallest_capacity",
        "You give each expert room for several tokens, whatever its capacity, as some libraries do. Here it may be 1.",
        {CAPACITY: CAPACITY.replace("capacity = ", "capacity = max(4, ") + ")"},
        variants=[
            {CAPACITY: CAPACITY.replace("capacity = ", f"capacity = max({least}, ") + ")"} for least in (2, 3, 8)
        ],
    ),
    Misconception(
        "rounded_twice",
        "You round before the end: to a whole share, or up to an even number. Round the product once, up.",
        {CAPACITY: "capacity = math.ceil(capacity_factor * math.ceil(choices / len(experts)))"},
        variants=[
            {CAPACITY: "capacity = 2 * math.ceil(math.ceil(capacity_factor * choices / len(experts)) / 2)"},
            {CAPACITY: "capacity = 4 * math.ceil(math.ceil(capacity_factor * choices / len(experts)) / 4)"},
        ],
        same_as=("smallest_capacity",),
    ),
    Misconception(
        "small_gates_ignored",
        "You leave out small gates. An expert was chosen wherever the gate is not 0.",
        {"is_sent = gates > 0": "is_sent = gates > 0.01"},
        variants=[{"is_sent = gates > 0": f"is_sent = gates > {least}"} for least in (0.05, 0.1, 0.5)],
    ),
    Misconception(
        "capacity_without_its_factor",
        "You leave out the capacity factor.",
        {CAPACITY: "capacity = math.ceil(choices / len(experts))"},
    ),
    Misconception(
        "one_place_too_few",
        "You leave one place of each expert empty. Look at the comparison with the capacity.",
        {KEPT: KEPT.replace("<=", "<")},
    ),
    Misconception(
        "one_place_too_many",
        "You take one token more than an expert has places. Look at where your count begins.",
        {KEPT: KEPT.replace("<= capacity", "<= capacity + 1")},
        variants=[{CAPACITY: "capacity = int(capacity_factor * choices / len(experts)) + 1"}],
    ),
    Misconception(
        "last_tokens_taken",
        "Your experts take their last tokens. They take them in order, from the first.",
        {PLACE: "place = is_sent.flip(0).cumsum(dim=0).flip(0)"},
    ),
    Misconception(
        "first_choices_first",
        "Your experts take first choices before second ones, as GShard does. Here they take tokens in order.",
        {
            PLACE: "first = is_sent & (gates == gates.amax(dim=1, keepdim=True))\n"
            "    place = torch.where(first, first.cumsum(dim=0), first.sum(dim=0) + (is_sent & ~first).cumsum(dim=0))"
        },
    ),
    Misconception(
        "first_rows_taken",
        "Your experts take tokens among the first rows of the batch. They take the first of their own tokens.",
        {KEPT: "kept = gates * (is_sent & (torch.arange(len(tokens))[:, None] < capacity))"},
    ),
    Misconception(
        "dropped_everywhere",
        "A token that one expert has no room for is dropped by all in your layer. The others still compute it.",
        {KEPT: KEPT + "\n    kept = kept * ~(is_sent & (place > capacity)).any(dim=1, keepdim=True)"},
    ),
    Misconception(
        "place_taken_for_the_row",
        "You take the place in an expert's list for the row of the batch. Place i of the list is row `rows[i]`.",
        {RETURN: _by_rows("gates[: len(rows), i, None]", "tokens[rows]", "rows")},
        variants=[
            {RETURN: _by_rows("gates[rows, i, None]", "tokens[: len(rows)]", "rows")},
            {RETURN: _by_rows("gates[rows, i, None]", "tokens[rows]", "torch.arange(len(rows))")},
        ],
    ),
    Misconception(
        "largest_gates_taken",
        "Your experts take the tokens with the largest gates. Here they take the first ones.",
        {PLACE: "place = gates.argsort(dim=0, descending=True).argsort(dim=0) + 1"},
    ),
    Misconception(
        "gates_renormalised_after_drops",
        "You divide by the gates that are left of a token. The gates stay as they are when an expert drops it.",
        {RETURN: "kept = kept / kept.sum(dim=1, keepdim=True).clamp(min=1e-30)\n    " + RETURN},
    ),
    Misconception(
        "gates_normalised_first",
        "You divide the gates of a token by their sum. They are given as they are to be used.",
        {RETURN: "kept = kept / gates.sum(dim=1, keepdim=True)\n    " + RETURN},
    ),
    Misconception(
        "gates_not_multiplied",
        "You add up the experts without their gates. The gate is also the router's only gradient.",
        {RETURN: "return ((kept > 0).unsqueeze(-1) * outputs).sum(dim=1)"},
    ),
    Misconception(
        "experts_averaged",
        "You take the mean of the experts of a token. Their gates weigh them already.",
        {RETURN: RETURN + " / is_sent.sum(dim=1, keepdim=True)"},
    ),
    Misconception(
        "gates_on_the_input",
        "You multiply the tokens by their gates before the experts, which are not linear. Weight their outputs.",
        {
            OUTPUTS: OUTPUTS.replace("expert(tokens) for", "expert(tokens * kept[:, [i]]) for i,").replace(
                "in experts", "in enumerate(experts)"
            ),
            RETURN: "return ((kept > 0).unsqueeze(-1) * outputs).sum(dim=1)",
        },
    ),
    Misconception(
        "dropped_tokens_returned",
        "You return a token itself where no expert takes it. That is the work of the residual connection around the "
        "layer; here its output is 0.",
        {RETURN: RETURN + " + tokens * (kept.sum(dim=1, keepdim=True) == 0)"},
    ),
    Misconception(
        "first_choice_only",
        "You use the expert with the largest gate only. Add up all that were chosen.",
        {KEPT: KEPT + "\n    kept = kept * (gates == gates.amax(dim=1, keepdim=True))"},
        variants=[{PLACE: "is_sent = is_sent & (gates == gates.amax(dim=1, keepdim=True))\n    " + PLACE}],
    ),
    Misconception(
        "last_expert_wins",
        "You overwrite what another expert computed for the same token. Add to it.",
        {KEPT: LAST_EXPERT},
    ),
    Misconception(
        "experts_without_tokens_left_out",
        "You divide by the number of experts that were chosen by somebody. The capacity depends on all experts.",
        {CAPACITY: "capacity = math.ceil(capacity_factor * choices / int(is_sent.any(dim=0).sum()))"},
    ),
    Misconception(
        "gates_added_for_choices",
        "You add up the gates where choices are counted. A choice counts as one, whatever its gate.",
        {CAPACITY: "capacity = math.ceil(capacity_factor * gates.detach().sum().item() / len(experts))"},
    ),
    Misconception(
        "gates_twice",
        "You multiply by the gate twice.",
        {RETURN: RETURN.replace("kept.", "(kept * kept).")},
    ),
    Misconception(
        "largest_gate_for_all",
        "You multiply every expert of a token by the token's largest gate. Each expert has its own.",
        {RETURN: RETURN.replace("kept.", "((kept > 0) * gates.amax(dim=1, keepdim=True)).")},
    ),
    Misconception(
        "tokens_added",
        "You add the token itself where an expert takes it. The residual connection is around the layer, not in it.",
        {RETURN: RETURN + " + tokens * (kept > 0).sum(dim=1, keepdim=True)"},
        variants=[{RETURN: RETURN + " + tokens"}],
    ),
    Misconception(
        "gates_without_gradient",
        "You cut the gates off from their graph, so the router learns nothing. Look for detach(), item() or no_grad.",
        {RETURN: RETURN.replace("kept.", "kept.detach().")},
    ),
    Misconception(
        "outputs_without_gradient",
        "You cut the experts' outputs off from their graph, by no_grad or detach(): neither tokens nor experts learn.",
        {OUTPUTS: OUTPUTS + ".detach()"},
    ),
    Misconception(
        "experts_without_gradient",
        "Your experts get no gradient, so they never learn. Call the modules that you were given.",
        {
            OUTPUTS: OUTPUTS.replace(
                "expert(tokens)",
                "torch.func.functional_call(expert, {n: p.detach() for n, p in expert.named_parameters()}, (tokens,))",
            )
        },
    ),
    Misconception(
        "rounded_to_float32",
        "You compute in float32 in between. Keep the format of the tokens.",
        {RETURN: RETURN + ".float().double()"},
    ),
    Misconception(
        "tokens_without_gradient",
        "You cut the tokens off from their graph. Look for detach() or .data.",
        {OUTPUTS: OUTPUTS.replace("expert(tokens)", "expert(tokens.detach())")},
    ),
    run=_run,
    cases=dispatch_cases,
    is_near=is_near,
)
