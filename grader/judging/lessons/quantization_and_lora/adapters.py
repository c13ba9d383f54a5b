"""Judges an adapter: its start, what it trains, its outputs and gradients, and the merged layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.quantization_and_lora.adapters import AdapterCase, adapter_cases, run_adapter
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

ROUNDING = 1e-5  # of outputs around 1, in float32


def add_lora(layer: nn.Linear, rank: int, alpha: float) -> nn.Module:
    """Return the layer with an adapter."""

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.A = nn.Parameter(torch.ones_like(layer.weight[:1]).expand(rank, -1).clone())
            self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=layer.weight.device))

        def forward(self, inputs: Tensor) -> Tensor:
            outputs: Tensor = self.layer(inputs)
            return outputs + alpha / rank * (inputs @ self.A.T @ self.B.T)

        def merged(self) -> nn.Linear:
            has_bias, device = layer.bias is not None, layer.weight.device
            whole = nn.Linear(layer.in_features, layer.out_features, bias=has_bias, device=device)
            with torch.no_grad():
                whole.weight.copy_(layer.weight + alpha / rank * (self.B @ self.A))
                if layer.bias is not None:
                    whole.bias.copy_(layer.bias)
            return whole

    return Adapted()


@dataclass(frozen=True)
class Start:
    """What was recorded of an adapter, except for its numbers.

    Attributes:
        case: The layer and its adapter.
        facts: What `run_adapter` recorded.
    """

    case: AdapterCase
    facts: Mapping[str, Any]

    @property
    def wanted(self) -> list[int]:
        """Numbers of both factors."""
        return sorted((self.case.rank * self.case.inputs, self.case.rank * self.case.outputs))

    @property
    def trained(self) -> list[int]:
        """Numbers of the trained parameters."""
        return sorted(int(count) for count in self.facts["trained"])

    @property
    def distance(self) -> float:
        """How far the outputs are from the layer's at the start."""
        return float(self.facts["distance_at_start"])


def judge_adapted_layer(observation: Observation, seed: int) -> Verdict:
    """Judge how the adapter starts, what is trained, then outputs, gradients and the merged layer."""
    cases = adapter_cases(seed)
    for case, facts in zip(cases, observation.facts["settings"], strict=True):
        start = Start(case, facts)
        expected = f"the base's outputs at the start, and two trained factors, A random and B zero ({describe(case)})"
        verdict = START.judge(start, expected)
        if verdict:
            return verdict
    tensors = observation.tensors
    values = [{name: tensors[f"{index}.{name}"] for name in NAMES} for index in range(len(cases))]
    answer = TABLE.answer(seed, values)
    for name in NAMES:
        part = answer.part(name)
        if not part.is_right:
            expected = f"{NAMES[name]} of norm {part.truth.norm().item():.5g} ({describe(part.case)})"
            distance = float((part.value - part.truth).norm())
            measured = f"norm {part.value.norm().item():.5g}; the norm of the difference is {distance:.3g}"
            times = _correction(part.case, part.value, part.truth) if name == "outputs" else ""
            otherwise = OTHERWISE[name].format(times)
            return TABLE.explain(part, answer, expected=expected, measured=measured, otherwise=otherwise)
    return Verdict(PASSED, "", f"{len(cases)} adapters right; the base is unchanged to the bit")


def describe(case: AdapterCase) -> str:
    """Name a case."""
    return f"{case.inputs} inputs, {case.outputs} outputs, rank {case.rank}, alpha {case.alpha:g}"


def _correction(case: AdapterCase, value: Tensor, truth: Tensor) -> str:
    """Return how large a correction of the outputs is, as a multiple of the right one."""
    with torch.no_grad():
        base = case.make_layer()(case.draw()["inputs"])
    return f"{float((value - base).norm() / (truth - base).norm()):.3g}"


def _run(add: Callable[..., Any], case: AdapterCase) -> dict[str, Tensor]:
    return {name: value.cpu() for name, value in run_adapter(add, case)[1].items()}


NAMES = {
    "outputs": "outputs",
    "gradient of A": "a gradient of A",
    "gradient of B": "a gradient of B",
    "gradient of x": "a gradient of the inputs",
    "merged": "outputs of the merged layer",
}
OTHERWISE = {
    "outputs": "Your outputs minus the base's are {} times as large as alpha / rank * B A x. Look at the scale, and at "
    "what else you apply between A and B.",
    "gradient of A": "Your outputs are right, the gradient of A is not. Look for a detach or a no_grad in forward.",
    "gradient of B": "Your outputs are right, the gradient of B is not. Look for a detach or a no_grad in forward.",
    "gradient of x": "Your layer passes another gradient on. It needs both ways: through the base and through A and B.",
    "merged": "Your merged layer gives other outputs than the adapter. Compare its weight with base + scale * B @ A in "
    "float32, and its bias with the base's.",
}
CHANGED = ("base_changed", "merged_the_base", "unfrozen_by_merge")
START = Table[Start](
    Misconception(
        "base_weight_written",
        "You write into the base, in forward or in merged(), or merged() returns it or changes your adapter. Both stay "
        "as they are to the bit: make a new layer.",
        shown_by=lambda start: (
            any(start.facts[f"is_{how}"] for how in CHANGED)
            or (start.facts["is_changed_by_merge"] and not start.facts["is_random"])
        ),
        measured="a base or an adapter that is no longer what it was",
    ),
    Misconception(
        "both_factors_zero",
        "You start both factors at zero. Then both gradients are zero for ever: only B starts there.",
        shown_by=lambda start: start.facts["is_first_zero"] and start.facts["is_second_zero"],
        measured="A and B zero at the start",
    ),
    Misconception(
        "zero_factor_swapped",
        "You start A at zero and B at random. It works, and it is not what is asked for: the contract puts zero in B.",
        shown_by=lambda start: start.facts["is_first_zero"],
        measured="A zero at the start, B not",
    ),
    Misconception(
        "random_start",
        "You start both factors at random, so the layer differs from the base before any training. Start B at zero.",
        shown_by=lambda start: not start.facts["is_second_zero"],
        measured="outputs {distance:.3g} from the base's at the start",
    ),
    Misconception(
        "first_factor_not_random",
        "Your A is the same in every adapter, or its rows depend on each other. Rows that start equal get equal "
        "gradients for ever: draw every number of A, without a seed of your own.",
        shown_by=lambda start: start.facts["is_first_repeated"] or start.facts["rank_of_first"] < start.case.rank,
        measured="an A of rank {facts[rank_of_first]}; the same A in two adapters: {facts[is_first_repeated]}",
    ),
    Misconception(
        "base_left_out",
        "You return the adapter's part alone. Add the base's outputs.",
        shown_by=lambda start: start.facts["is_start_zero"],
        measured="outputs of zero at the start",
    ),
    Misconception(
        "differs_at_start",
        "Your layer differs from the base although B is zero. Use the base's own weight, and add its bias once.",
        shown_by=lambda start: start.distance > ROUNDING,
        measured="outputs {distance:.3g} from the base's at the start",
    ),
    Misconception(
        "factors_frozen",
        "You freeze the factors. Freeze the base before they exist, or freeze its parameters only.",
        shown_by=lambda start: not start.facts["are_factors_trained"],
        measured="trained parameters of {trained} numbers",
    ),
    Misconception(
        "base_trained",
        "You leave the base trainable, so an optimizer of model.parameters() gets gradients and moments for all of "
        "it. Turn requires_grad off.",
        shown_by=lambda start: start.facts["is_base_trained"],
        measured="trained parameters of {trained} numbers",
    ),
    Misconception(
        "others_trained",
        "You train other parameters than the two factors. Look at every nn.Parameter that your class makes.",
        shown_by=lambda start: start.trained != start.wanted or start.facts["has_base_gradient"],
        measured="trained parameters of {trained} numbers",
    ),
    Misconception(
        "output_random",
        "Your outputs differ from call to call. Leave dropout out.",
        expected="equal outputs for equal inputs",
        shown_by=lambda start: start.facts["is_random"],
        measured="other outputs in a second call",
    ),
    Misconception(
        "dense_update_built",
        "You build a matrix of the base's shape in forward. Its gradient would have that shape, too. Multiply the "
        "inputs by A first, then by B.",
        shown_by=lambda start: start.facts["is_dense"],
        expected="outputs by the two thin factors, in train and in eval mode",
        measured="a new matrix of {case.outputs} x {case.inputs} in forward",
    ),
)
FORWARD = "alpha / rank * (inputs @ self.A.T @ self.B.T)"
MERGE = "layer.weight + alpha / rank * (self.B @ self.A)"
TABLE = ReferenceTable(
    add_lora,
    Misconception(
        "no_scale",
        "You add B @ A without a scale. It is alpha / rank.",
        {FORWARD: "inputs @ self.A.T @ self.B.T"},
    ),
    Misconception(
        "scaled_by_alpha",
        "You scale by alpha alone. Divide it by the rank, so that a higher rank does not mean longer steps.",
        {FORWARD: "alpha * (inputs @ self.A.T @ self.B.T)"},
    ),
    Misconception(
        "base_cut_off",
        "You cut the gradient of the inputs off, by no_grad or a detach, in the base or before A. It passes both ways "
        "to the layers before; freezing the base's parameters is enough.",
        {"outputs: Tensor = self.layer(inputs)": "outputs: Tensor = self.layer(inputs).detach()"},
        variants=[{FORWARD: "alpha / rank * (inputs.detach() @ self.A.T @ self.B.T)"}],
    ),
    Misconception(
        "merged_without_adapter",
        "You return a copy of the base from merged(). Add scale * B @ A to its weight.",
        {MERGE: "layer.weight"},
    ),
    Misconception(
        "merged_without_base",
        "You put B @ A alone into the merged layer. Add it to the base's weight.",
        {MERGE: "alpha / rank * (self.B @ self.A)"},
        variants=[{MERGE: "self.B @ self.A"}],
    ),
    Misconception(
        "merged_without_scale",
        "You merge B @ A without the scale that forward uses.",
        {MERGE: "layer.weight + self.B @ self.A"},
    ),
    Misconception(
        "merged_without_bias",
        "You leave the base's bias out of the merged layer.",
        {"whole.bias.copy_(layer.bias)": "whole.bias.zero_()"},
        variants=[{"whole.bias.copy_(layer.bias)": "pass"}],
    ),
    run=_run,
    cases=adapter_cases,
    is_near=within(relative=1e-4, absolute=1e-5),
)
