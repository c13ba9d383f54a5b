"""Judges a product of two matrices in e4m3, whose scales go by rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import Answer, ReferenceTable
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
        verdicts = (judge_operands(in_fp8, 1) for in_fp8 in observation.facts["in_fp8"])
        passed = Verdict(PASSED, "", f"{len(answer.values)} products equal to the reference's")
        return next((verdict for verdict in verdicts if verdict), passed)
    case: ProductCase = answer.case
    return PRODUCT.explain(
        answer,
        expected=f"the product of e4m3 values, scales taken out (a [{case.rows}, {case.inner}])",
        measured=_distance(answer.value, answer.truth),
        otherwise="Print your operands after scaling and cast: the largest magnitude of each row of a and each column "
        "of b is between 224 and 448. Then look at how they are multiplied.",
    )


def judge_operands(in_fp8: Sequence[bool], needed: int) -> Verdict | None:
    """Find out whether right values came from operands whose scales were taken out before the product."""
    if all(in_fp8) or sum(in_fp8) >= needed:
        return None
    return Verdict(
        "scales_out_before_the_product",
        "products whose operands are both in fp8",
        f"{len(in_fp8) - sum(in_fp8)} of {len(in_fp8)} products with another operand",
        "You divide an operand by its scale before the product, so it is no longer in fp8. Divide the product instead.",
    )


def _only_small_rows_differ(answer: Answer) -> bool:
    for index in answer.wrong:
        a, b = answer.table.reference.cases(answer.seed)[index].draw()
        is_small = (a.abs().amax(dim=1, keepdim=True) < 1e-4) | (b.abs().amax(dim=0, keepdim=True) < 1e-4)
        away = _differences(answer.values[index], answer.only(index).truth)
        if not bool(((away <= TOLERANCE) | (is_small & away.isfinite())).all()):
            return False
    return True


def _distance(value: Tensor, truth: Tensor) -> str:
    if not bool(torch.isfinite(value).all()):
        return "NaN or infinity in the product"
    return f"a largest difference of {_differences(value, truth).max().item():.2g}, relative to row and column"


def _differences(value: Tensor, truth: Tensor) -> Tensor:
    rows, columns = truth.abs().amax(dim=1, keepdim=True), truth.abs().amax(dim=0, keepdim=True)
    sizes = rows * columns / truth.abs().max().clamp(min=1e-30)
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
A_BLOCKS = "torch.cat([part.abs().amax(1, True).expand_as(part) for part in a.split(32, 1)], 1)"
B_BLOCKS = "torch.cat([part.abs().amax(0, True).expand_as(part) for part in b.split(32)])"


def _scales(form: str) -> dict[str, str]:
    """Compute both scales in another way."""
    return {A_SCALE: form.format("a_size.clamp(min=1e-20)"), B_SCALE: form.format("b_size.clamp(min=1e-20)")}


def _sized(end: str) -> dict[str, str]:
    """Compute both sizes in another way than by the largest magnitude."""
    return {A_SIZE: f"a.{end.format(1)}", B_SIZE: f"b.{end.format(0)}"}


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
        "You give scales that change along the dimension that the product adds over. Those cannot be taken out of the "
        "sum.",
        {A_SIZE: "a.abs().amax(dim=0, keepdim=True)", B_SIZE: "b.abs().amax(dim=1, keepdim=True)"} | DEQUANTIZED,
        variants=[
            {A_SIZE: "a.abs().amax(dim=0, keepdim=True)"} | DEQUANTIZED,
            {B_SIZE: "b.abs().amax(dim=1, keepdim=True)"} | DEQUANTIZED,
            {A_SIZE: "a.abs()", B_SIZE: "b.abs()"} | DEQUANTIZED,
            {A_SIZE: A_BLOCKS, B_SIZE: B_BLOCKS} | DEQUANTIZED,
        ],
    ),
    Misconception(
        "zeros_divided_by",
        "You get NaN from a row or column of zeros. Its scale has to be finite and above zero, and 448 over zero, or "
        "over the smallest float, is infinite.",
        {A_SCALE: "power_of_two(448 / a_size)", B_SCALE: "power_of_two(448 / b_size)"},
        variants=[{A_SCALE: "power_of_two(448 / a_size)"}, {B_SCALE: "power_of_two(448 / b_size)"}],
    ),
    Misconception(
        "one_operand_cast",
        "You cast one operand and leave the other in float32. An fp8 product needs both in 8 bits.",
        {CASTS: "(a * a_scale).clamp(-448, 448).to(dtype), b * b_scale"},
        variants=[{CASTS: "a * a_scale, (b * b_scale).clamp(-448, 448).to(dtype)"}],
    ),
    Misconception(
        "cast_without_scales",
        "You cast the matrices as they are. Multiply each row of a and each column of b by its scale first.",
        {A_SCALE: "torch.ones_like(a_size)", B_SCALE: "torch.ones_like(b_size)"},
    ),
    Misconception(
        "scale_inverted",
        "Your scales are inverted: they push small rows further down. The scale is 448 over the largest magnitude.",
        _scales("power_of_two({} / 448)"),
    ),
    Misconception(
        "scales_left_in",
        "You leave a scale in the product. It is the product of the scaled matrices: divide by both.",
        {RETURNED: "product"},
        variants=[{RETURNED: "product / a_scale"}, {RETURNED: "product / b_scale"}],
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
        _scales("448 / {}"),
        variants=[{scale: text} for scale, text in _scales("448 / {}").items()],
    ),
    Misconception(
        "scales_rounded_up",
        "You round scales up, so some largest magnitudes exceed 448. `power_of_two` of the scale itself rounds down.",
        _scales("2 * power_of_two(448 / {})"),
        variants=[_scales("torch.exp2(torch.log2(448 / {}).round())"), _scales("448 / power_of_two({})")],
    ),
    Misconception(
        "another_target",
        "You bring the largest magnitude to another number than 448, e4m3's largest, so small values lose bits.",
        _scales("power_of_two(240 / {})"),
        variants=[_scales(f"power_of_two({target} / {{}})") for target in (256, 224, 1)],
    ),
    Misconception(
        "not_the_largest_magnitude",
        "You compute scales from a mean or a norm. Take the largest magnitude of each row of a and column of b.",
        _sized("abs().mean(dim={}, keepdim=True)"),
        variants=[_sized("norm(dim={}, keepdim=True)"), _sized("abs().sum(dim={}, keepdim=True)")],
    ),
    Misconception(
        "product_in_few_bits",
        "You round the product to 8 or 16 bits. Hardware adds the products of fp8 numbers in more: use float32.",
        {PRODUCT_LINE: "(a8.bfloat16() @ b8.bfloat16()).float()"},
        variants=[
            {PRODUCT_LINE: "(a8.half() @ b8.half()).float()"},
            {PRODUCT_LINE: "(a8.float() @ b8.float()).to(dtype).float()"},
        ],
    ),
    Misconception(
        "scale_limited",
        "Your guard against zeros also limits the scale of small rows, which lose bits or become zero. Only an "
        "all-zero row needs it.",
        shown_by=_only_small_rows_differ,
    ),
    run=_run,
    cases=product_cases,
    is_near=is_near,
)
