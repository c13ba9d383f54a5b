"""Judges an fp8 linear layer: its output, its gradients, and what it keeps for backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.fp8_training.products import judge_operands, power_of_two
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.fp8_training.linears import LinearCase, linear_cases, saved_case
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# Sums in another order differ by 1e-6, and by one step where they are rounded to bf16; e4m3 for e5m2 differs by 3e-2.
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 2e-3}
ALLOWED = 1024  # bytes for scales and the like
PARTS = {"outputs": "the output", "inputs": "the gradient of the input", "weight": "the gradient of the weight"}


def cast(values: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return values in fp8, as float32, and their scale, a power of two."""
    largest = torch.finfo(dtype).max
    scale = power_of_two(largest / values.float().abs().amax().clamp(min=1e-20))
    return (values.float() * scale).clamp(-largest, largest).to(dtype).float(), scale


def fp8_linear(inputs: Tensor, weight: Tensor, gradient: Tensor) -> dict[str, Tensor]:
    """Return the output of a linear layer in fp8, and the gradients of input and weight."""
    x, x_scale = cast(inputs.flatten(0, -2), torch.float8_e4m3fn)
    w, w_scale = cast(weight, torch.float8_e4m3fn)
    g, g_scale = cast(gradient.flatten(0, -2), torch.float8_e5m2)
    outputs = x @ w.T / x_scale / w_scale
    of_inputs = g @ w / g_scale / w_scale
    of_weight = g.T @ x / g_scale / x_scale
    inputs_gradient = of_inputs.reshape(inputs.shape).to(inputs.dtype)
    return {"outputs": outputs.reshape(gradient.shape).to(inputs.dtype), "inputs": inputs_gradient, "weight": of_weight}


def judge_fp8_linear(observation: Observation, seed: int) -> Verdict:
    """Compare each output, then the gradients."""
    count = len(linear_cases(seed))
    values = [{name: observation.tensors[f"{name}.{index}"] for name in PARTS} for index in range(count)]
    answer = LINEAR.answer(seed, values)
    for name, what in PARTS.items():
        part = answer.part(name)
        if part.is_right:
            continue
        case: LinearCase = part.case
        return LINEAR.explain(
            answer,
            part,
            expected=f"{what} of norm {_norm(part.truth):.6g} (input {[*case.shape, case.features]}, {case.dtype})",
            measured=f"norm {_norm(part.value):.6g}, {_distance(part.value, part.truth):.2g} of it away",
            otherwise=_describe(what, part.value.double(), part.truth.double()),
        )
    verdicts = (judge_operands(in_fp8, 3) for in_fp8 in observation.facts["in_fp8"])
    passed = Verdict(PASSED, "", f"output and gradients equal to the emulated layer's in {count} settings")
    return next((verdict for verdict in verdicts if verdict), passed)


def _describe(what: str, value: Tensor, truth: Tensor) -> str:
    """Say whether a value differs by a factor, by rounding, or by more."""
    if not value.any():
        return f"You get zero for {what}. Print the largest magnitude before and after each cast."
    factor = float((value * truth).sum() / truth.square().sum())
    noise = _norm(value - factor * truth) / _norm(value)
    if noise < 1e-3:
        return f"You get {factor:.4g} times {what}. Look for a scale, a mean, or rows that are counted in another way."
    if noise < 0.3:
        return (
            f"You get {what} with {noise:.1%} of noise, as from a number format. Look for an operand or a result "
            "that is cast once too often, not at all, or not by `to_fp8`."
        )
    return f"You get {what} with more than a factor or noise. Look at the operands, and at the rows that are added up."


@dataclass(frozen=True)
class Kept:
    """What a layer keeps for backward.

    Attributes:
        facts: What was observed.
        case: The layer.
    """

    facts: Mapping[str, Any]
    case: LinearCase

    @property
    def bytes_count(self) -> int:
        """Bytes that autograd keeps, without the weight."""
        return sum(int(size) for _, size in self.facts["rows"])

    @property
    def inputs(self) -> int:
        """Elements of the input."""
        return prod(self.case.shape) * self.case.features

    @property
    def budget(self) -> int:
        """Bytes that a layer may keep: one for each number of input and weight, and some for scales."""
        return self.inputs + self.case.features * self.case.outputs + ALLOWED


def judge_fp8_saved(observation: Observation, seed: int) -> Verdict:
    """Judge what is kept for backward, without the weight itself."""
    kept = Kept(observation.facts, saved_case(seed))
    expected = f"at most {kept.budget:,} bytes kept: one for each number of input and weight, {ALLOWED:,} for scales"
    measured = f"{kept.bytes_count:,} bytes, and {kept.facts['hidden_bytes']:,} kept elsewhere"
    verdict = SAVED.judge(kept, expected, measured)
    if verdict:
        return verdict
    plain = 2 * kept.inputs
    return Verdict(PASSED, "", f"{kept.bytes_count:,} bytes kept for backward; bf16 would keep {plain:,} of the input")


def _norm(value: Tensor) -> float:
    return float(torch.linalg.vector_norm(value.double()))


def _distance(value: Tensor, truth: Tensor) -> float:
    return _norm(value.double() - truth.double()) / max(_norm(truth), 1e-30)


def is_near(answer: Any, value: Any) -> bool:
    """Return whether tensors, or mappings of them, agree in norm."""
    if isinstance(value, Mapping):
        return all(is_near(answer[name], value[name]) for name in value)
    if answer.shape != value.shape or not bool(answer.isfinite().all()):
        return False
    return _norm(answer.double() - value.double()) <= TOLERANCES[value.dtype] * _norm(value)


def _run(function: Callable[..., Any], case: LinearCase) -> dict[str, Tensor]:
    values: dict[str, Tensor] = function(**case.draw())
    return values


X = "cast(inputs.flatten(0, -2), torch.float8_e4m3fn)"
W = "cast(weight, torch.float8_e4m3fn)"
G = "cast(gradient.flatten(0, -2), torch.float8_e5m2)"
UNCAST_X, UNCAST_W = "(inputs.flatten(0, -2).float(), torch.ones(()))", "(weight, torch.ones(()))"
UNCAST_G = "(gradient.flatten(0, -2).float(), torch.ones(()))"
UNSCALED_X = "(inputs.flatten(0, -2).to(torch.float8_e4m3fn).float(), torch.ones(()))"
UNSCALED_W = "(weight.to(torch.float8_e4m3fn).float(), torch.ones(()))"
SCALED_G = "((gradient.flatten(0, -2).float() * {0}).clamp(-57344, 57344).to(torch.float8_e5m2).float(), {0})"
OUTPUTS, OF_INPUTS = "x @ w.T / x_scale / w_scale", "g @ w / g_scale / w_scale"
OF_WEIGHT = "g.T @ x / g_scale / x_scale"

LINEAR = ReferenceTable(
    (fp8_linear, cast, power_of_two),
    Misconception(
        "nothing_cast",
        "You multiply in the given format. Cast both operands of each product to fp8.",
        {X: UNCAST_X, W: UNCAST_W, G: UNCAST_G},
        variants=[{X: UNCAST_X, W: UNCAST_W}, {X: UNCAST_X, W: "(weight.to(inputs.dtype).float(), torch.ones(()))"}],
    ),
    Misconception(
        "cast_without_scales",
        "You cast input and weight as they are. `to_fp8` brings each tensor's largest magnitude near the format's.",
        {X: UNSCALED_X, W: UNSCALED_W},
    ),
    Misconception(
        "weight_cast_once",
        "You use a cast of the weight from an earlier call. Each update changes the weight: cast it in every forward.",
        {W: "cast(2 * weight, torch.float8_e4m3fn)"},
    ),
    Misconception(
        "one_operand_cast",
        "You cast one operand of the forward and leave the other. An fp8 product needs both in 8 bits.",
        {X: UNCAST_X},
        variants=[{W: UNCAST_W}],
    ),
    Misconception(
        "e4m3_for_gradients",
        "You cast the gradient to e4m3, whose range loses the small ones. Gradients take e5m2.",
        {G: G.replace("e5m2", "e4m3fn")},
    ),
    Misconception(
        "e5m2_in_the_forward",
        "You cast input and weight to e5m2. The forward needs precision more than range: e4m3.",
        {X: X.replace("e4m3fn", "e5m2"), W: W.replace("e4m3fn", "e5m2")},
        variants=[
            {X: X.replace("e4m3fn", "e5m2")},
            {W: W.replace("e4m3fn", "e5m2")},
        ],
    ),
    Misconception(
        "gradient_not_cast",
        "You multiply the gradient as it arrives. The two products of backward are fp8 products, too: cast it to e5m2.",
        {G: UNCAST_G},
    ),
    Misconception(
        "gradient_without_a_scale_of_its_own",
        "You give the gradient no scale, a constant, or another tensor's, so small ones become zero. Use `to_fp8`.",
        {G: SCALED_G.format("1.0")},
        variants=[{G: SCALED_G.format(scale)} for scale in ("1024.0", "65536.0", "x_scale")],
    ),
    Misconception(
        "scales_left_in",
        "You leave a scale in a product. Each of the three has the scales of its own two operands: divide by both.",
        {OUTPUTS: "x @ w.T"},
        variants=[
            {OUTPUTS: "x @ w.T / x_scale"},
            {OUTPUTS: "x @ w.T / w_scale"},
            {OF_INPUTS: "g @ w", OF_WEIGHT: "g.T @ x"},
            {OF_INPUTS: "g @ w / g_scale", OF_WEIGHT: "g.T @ x / g_scale"},
            {OF_INPUTS: "g @ w / w_scale", OF_WEIGHT: "g.T @ x / x_scale"},
        ],
    ),
    Misconception(
        "scales_multiplied",
        "You multiply a product by its scales. The operands were multiplied before the cast, so divide.",
        {OUTPUTS: "x @ w.T * x_scale * w_scale"},
    ),
    Misconception(
        "scales_of_the_wrong_operand",
        "You take the scale of an operand out of a product that it is not in.",
        {OF_INPUTS: "g @ w / g_scale / x_scale", OF_WEIGHT: "g.T @ x / g_scale / w_scale"},
        variants=[{OF_INPUTS: "g @ w / x_scale / w_scale", OF_WEIGHT: "g.T @ x / x_scale / w_scale"}],
    ),
    Misconception(
        "operand_of_backward_not_cast",
        "You multiply the gradient with an operand as it was before its cast. Both operands have to be in fp8.",
        {OF_INPUTS: "g @ weight / g_scale", OF_WEIGHT: "g.T @ inputs.flatten(0, -2).float() / g_scale"},
        variants=[
            {OF_INPUTS: "g @ weight / g_scale"},
            {OF_WEIGHT: "g.T @ inputs.flatten(0, -2).float() / g_scale"},
        ],
    ),
    Misconception(
        "gradient_missing",
        "You return no gradient of an argument. `backward` returns one for each argument of `apply`.",
        {OF_INPUTS: "0 * (g @ w)"},
        variants=[{OF_WEIGHT: "0 * (g.T @ x)"}],
    ),
    Misconception(
        "product_in_16_bits",
        "You round a product to 16 bits. Multiply in float32, and return the gradient of the weight in float32.",
        {OUTPUTS: "(x.bfloat16() @ w.bfloat16().T).float() / x_scale / w_scale"},
        variants=[
            {OF_INPUTS: "(g.bfloat16() @ w.bfloat16()).float() / g_scale / w_scale"},
            {OF_WEIGHT: "(g.bfloat16().T @ x.bfloat16()).float() / g_scale / x_scale"},
            {OF_WEIGHT: "(g.T @ x / g_scale / x_scale).to(inputs.dtype).float()"},
        ],
    ),
    Misconception(
        "rows_averaged",
        "You average the weight gradient over the rows. The gradient that arrives holds that factor already: add.",
        {OF_WEIGHT: "g.T @ x / g_scale / x_scale / len(x)"},
    ),
    run=_run,
    cases=linear_cases,
    is_near=is_near,
)
SAVED = Table[Kept](
    Misconception(
        "kept_outside_autograd",
        "You keep tensors out of autograd's sight: on ctx, in a closure, on a class or in a global. Pass them to "
        "`ctx.save_for_backward`.",
        shown_by=lambda kept: kept.facts["hidden_bytes"] > ALLOWED,
    ),
    Misconception(
        "wide_copy_kept",
        "You keep numbers of 16 or 32 bits for backward. Keep what the product was made of: the fp8 copy.",
        shown_by=lambda kept: any(width > 1 and size > ALLOWED for width, size in kept.facts["rows"]),
    ),
    Misconception(
        "too_many_copies",
        "You keep more than one fp8 copy of input or weight. A transposed view costs nothing.",
        shown_by=lambda kept: kept.bytes_count > kept.budget,
    ),
)
