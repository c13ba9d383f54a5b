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
        expected = f"a layer equal to the base at the start, of which both factors are trained ({describe(case)})"
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
            measured = f"norm {part.value.norm().item():.5g}"
            return TABLE.explain(part, answer, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    for case, facts in zip(cases, observation.facts["settings"], strict=True):
        verdict = COST.judge(Start(case, facts), f"outputs by the two thin factors ({describe(case)})")
        if verdict:
            return verdict
    return Verdict(PASSED, "", f"{len(cases)} adapters right; the base is unchanged to the bit")


def describe(case: AdapterCase) -> str:
    """Name a case."""
    return f"{case.inputs} inputs, {case.outputs} outputs, rank {case.rank}, alpha {case.alpha:g}"


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
    "outputs": "Your outputs differ. Set A and B by hand for a layer of 2 inputs and 2 outputs, with rank 1.",
    "gradient of A": "Your outputs are right, the gradient of A is not. Look for a detach or a no_grad in forward.",
    "gradient of B": "Your outputs are right, the gradient of B is not. Look for a detach or a no_grad in forward.",
    "gradient of x": "Your layer passes another gradient on. It needs both ways: through the base and through A and B.",
    "merged": "Your merged layer gives other outputs than the adapter. Compare its weight with base + scale * B @ A.",
}
START = Table[Start](
    Misconception(
        "base_weight_written",
        "You write into the base, in forward, or in merged(). It stays as it is to the bit: make a new layer.",
        shown_by=lambda start: start.facts["is_base_changed"],
        measured="other weights of the base",
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
        "base_left_out",
        "You return the adapter's part alone. Add the base's outputs.",
        shown_by=lambda start: start.facts["is_start_zero"],
        measured="outputs of zero at the start",
    ),
    Misconception(
        "differs_at_start",
        "Your layer differs from the base although B is zero. Look at the bias, and at what forward adds.",
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
        shown_by=lambda start: len(start.trained) > 2,
        measured="trained parameters of {trained} numbers",
    ),
    Misconception(
        "others_trained",
        "You train other parameters than the two factors.",
        shown_by=lambda start: start.trained != start.wanted or start.facts["has_base_gradient"],
        measured="trained parameters of {trained} numbers",
    ),
    Misconception(
        "merged_in_place",
        "You return the base from merged(), or change the adapter there. Its next output would have B @ A twice: make "
        "a new layer.",
        shown_by=lambda start: start.facts["is_merged_the_base"] or start.facts["is_changed_by_merge"],
        measured="another output of the adapter after merged()",
    ),
)
COST = Table[Start](
    Misconception(
        "dense_update_built",
        "You build a matrix of the base's shape in forward. Its gradient would have that shape, too. Multiply the "
        "inputs by A first, then by B.",
        shown_by=lambda start: start.facts["is_dense"],
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
        variants=[
            {FORWARD: "inputs @ self.A.T @ self.B.T", MERGE: "layer.weight + self.B @ self.A"},
        ],
    ),
    Misconception(
        "scaled_by_alpha",
        "You scale by alpha alone. Divide it by the rank, so that a higher rank does not mean longer steps.",
        {FORWARD: "alpha * (inputs @ self.A.T @ self.B.T)"},
        variants=[
            {FORWARD: "alpha * (inputs @ self.A.T @ self.B.T)", MERGE: "layer.weight + alpha * (self.B @ self.A)"},
        ],
    ),
    Misconception(
        "scale_inverted",
        "You scale by rank / alpha. It is alpha / rank.",
        {FORWARD: "rank / alpha * (inputs @ self.A.T @ self.B.T)"},
        variants=[
            {
                FORWARD: "rank / alpha * (inputs @ self.A.T @ self.B.T)",
                MERGE: "layer.weight + rank / alpha * (self.B @ self.A)",
            },
        ],
    ),
    Misconception(
        "scale_of_the_root",
        "You scale by alpha over the root of the rank, which is rsLoRA. Asked for is alpha / rank.",
        {FORWARD: "alpha / rank**0.5 * (inputs @ self.A.T @ self.B.T)"},
        variants=[
            {
                FORWARD: "alpha / rank**0.5 * (inputs @ self.A.T @ self.B.T)",
                MERGE: "layer.weight + alpha / rank**0.5 * (self.B @ self.A)",
            },
        ],
    ),
    Misconception(
        "base_cut_off",
        "You run the base under no_grad, so no gradient passes through it to the layers before. Freezing its "
        "parameters is enough.",
        {"outputs: Tensor = self.layer(inputs)": "outputs: Tensor = self.layer(inputs).detach()"},
    ),
    Misconception(
        "merged_without_adapter",
        "You return a copy of the base from merged(). Add scale * B @ A to its weight.",
        {MERGE: "layer.weight"},
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
