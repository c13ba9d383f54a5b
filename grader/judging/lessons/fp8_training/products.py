"""Judges a product of two matrices in e4m3, whose scales go by rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable
from grader.lessons.fp8_training.products import ProductCase, product_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-4  # float32 sums in another order differ by 1e-6 of the largest term; two formats by 1e-2


def power_of_two(values: Tensor) -> Tensor:
    """Return the largest powers of two up to positive values."""
    return torch.exp2(torch.floor(torch.log2(values)))


def row_scaled_product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b, each row of a and each column of b with a scale of its own."""
    dtype = torch.float8_e4m3fn
    a_size, b_size = a.abs().amax(dim=1, keepdim=True), b.abs().amax(dim=0, keepdim=True)
    a_scale = power_of_two(448 / a_size.clamp(min=1e-20))
    b_scale = power_of_two(448 / b_size.clamp(min=1e-20))
    a8, b8 = (a * a_scale).clamp(-448, 448).to(dtype), (b * b_scale).clamp(-448, 448).to(dtype)
    product = a8.float() @ b8.float()
    return product / a_scale / b_scale


def judge_row_scaled_product(observation: Observation, seed: int) -> Verdict:
    """Compare each product, relative to the size of its row and column."""
    answer = PRODUCT.answer(seed, [observation.tensors[str(index)] for index in range(len(product_cases(seed)))])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} products equal to the reference's")
    case: ProductCase = answer.case
    return PRODUCT.explain(
        answer,
        expected=f"the product of e4m3 values, scales taken out (a [{case.rows}, {case.inner}])",
        measured=_distance(answer.value, answer.truth),
        otherwise="Multiply two matrices of ones, then scale one row of a by 1,000: what should change, and what does?",
    )


def _distance(value: Tensor, truth: Tensor) -> str:
    if not bool(torch.isfinite(value).all()):
        return "NaN or infinity in the product"
    return f"a largest difference of {_differences(value, truth).max().item():.2g}, relative to row and column"


def _differences(value: Tensor, truth: Tensor) -> Tensor:
    rows, columns = truth.abs().amax(dim=1, keepdim=True), truth.abs().amax(dim=0, keepdim=True)
    sizes = rows * columns / truth.abs().max()
    return (value - truth).abs() / sizes.clamp(min=1e-30)


def is_near(answer: Any, value: Any) -> bool:
    """Return whether two products agree, element by element; NaN equals NaN."""
    if answer.shape != value.shape or not torch.equal(answer.isnan(), value.isnan()):
        return False
    return bool((_differences(answer.nan_to_num(), value.nan_to_num()) <= TOLERANCE).all())


def _run(function: Callable[..., Any], case: ProductCase) -> Tensor:
    product: Tensor = function(*case.draw())
    return product


A_SIZE, B_SIZE = "a.abs().amax(dim=1, keepdim=True)", "b.abs().amax(dim=0, keepdim=True)"
A_SCALE, B_SCALE = "power_of_two(448 / a_size.clamp(min=1e-20))", "power_of_two(448 / b_size.clamp(min=1e-20))"
CASTS = "(a * a_scale).clamp(-448, 448).to(dtype), (b * b_scale).clamp(-448, 448).to(dtype)"
PRODUCT_LINE, RETURNED = "a8.float() @ b8.float()", "product / a_scale / b_scale"
DEQUANTIZED = {PRODUCT_LINE: "(a8.float() / a_scale) @ (b8.float() / b_scale)", RETURNED: "product"}
FORMAT = "torch.float8_e4m3fn"
A_WHOLE, B_WHOLE = "a.abs().amax()", "b.abs().amax()"

PRODUCT = ReferenceTable(
    (row_scaled_product, power_of_two),
    Misconception(
        "nothing_cast",
        "You multiply without a cast to fp8. Multiply each operand by its scales, and cast.",
        {PRODUCT_LINE: "a @ b", RETURNED: "product"},
        variants=[{CASTS: "a * a_scale, b * b_scale"}],
    ),
    Misconception(
        "one_scale_for_the_tensor",
        "You give a whole tensor one scale, so its small rows become zero. Each row of a and each column of b has one.",
        {A_SIZE: A_WHOLE, B_SIZE: B_WHOLE},
        variants=[{A_SIZE: A_WHOLE}, {B_SIZE: B_WHOLE}],
    ),
    Misconception(
        "scales_along_the_sum",
        "You scale along the dimension that the product adds over. Such a scale cannot be taken out of a sum, and a "
        "small row stays small.",
        {A_SIZE: "a.abs().amax(dim=0, keepdim=True)", B_SIZE: "b.abs().amax(dim=1, keepdim=True)"} | DEQUANTIZED,
        variants=[
            {A_SIZE: "a.abs().amax(dim=0, keepdim=True)"} | DEQUANTIZED,
            {B_SIZE: "b.abs().amax(dim=1, keepdim=True)"} | DEQUANTIZED,
        ],
    ),
    Misconception(
        "zeros_divided_by",
        "You divide by the largest magnitude of a row of zeros: the scale is infinite, and zero times infinity is NaN.",
        {A_SCALE: "power_of_two(448 / a_size)", B_SCALE: "power_of_two(448 / b_size)"},
        variants=[{A_SCALE: "power_of_two(448 / a_size)"}, {B_SCALE: "power_of_two(448 / b_size)"}],
    ),
    Misconception(
        "scale_inverted",
        "Your scales are inverted: they push small rows further down. The scale is 448 over the largest magnitude.",
        {
            A_SCALE: "power_of_two(a_size.clamp(min=1e-20) / 448)",
            B_SCALE: "power_of_two(b_size.clamp(min=1e-20) / 448)",
        },
    ),
    Misconception(
        "divided_before_the_cast",
        "You divide by the scales before the cast, and again after the product. Multiply first.",
        {CASTS: "(a / a_scale).clamp(-448, 448).to(dtype), (b / b_scale).clamp(-448, 448).to(dtype)"},
        variants=[
            {
                CASTS: "(a / a_scale).clamp(-448, 448).to(dtype), (b / b_scale).clamp(-448, 448).to(dtype)",
                RETURNED: "product * a_scale * b_scale",
            }
        ],
    ),
    Misconception(
        "scales_left_in",
        "You leave both scales in the product. It belongs to the scaled matrices: divide.",
        {RETURNED: "product"},
    ),
    Misconception(
        "one_scale_left_in",
        "You take the scale of one operand out of the product, and leave the other's in.",
        {RETURNED: "product / a_scale"},
        variants=[{RETURNED: "product / b_scale"}],
    ),
    Misconception(
        "scales_put_in_again",
        "You multiply the product by the scales. The operands were multiplied already: divide.",
        {RETURNED: "product * a_scale * b_scale"},
    ),
    Misconception(
        "signs_not_dropped",
        "You look for the largest value instead of the largest magnitude. A large negative number then overflows.",
        {A_SIZE: "a.amax(dim=1, keepdim=True)", B_SIZE: "b.amax(dim=0, keepdim=True)"},
        variants=[{A_SIZE: "a.amax(dim=1, keepdim=True)"}, {B_SIZE: "b.amax(dim=0, keepdim=True)"}],
    ),
    Misconception(
        "e5m2_for_operands",
        "You cast to e5m2, which has one bit less for precision. Operands of a forward product are e4m3.",
        {FORMAT: "torch.float8_e5m2"},
        variants=[
            {
                FORMAT: "torch.float8_e5m2",
                A_SCALE: A_SCALE.replace("448", "57344"),
                B_SCALE: B_SCALE.replace("448", "57344"),
                CASTS: CASTS.replace("448", "57344"),
            }
        ],
    ),
    Misconception(
        "scale_not_a_power_of_two",
        "You leave out `power_of_two`. Multiplying by any other scale rounds once more, before the cast.",
        {A_SCALE: "448 / a_size.clamp(min=1e-20)", B_SCALE: "448 / b_size.clamp(min=1e-20)"},
    ),
    Misconception(
        "product_in_16_bits",
        "You form the product in bf16, which rounds the sums. Hardware adds the products of fp8 numbers in more bits: "
        "use float32.",
        {PRODUCT_LINE: "(a8.bfloat16() @ b8.bfloat16()).float()"},
    ),
    run=_run,
    cases=product_cases,
    is_near=is_near,
)
