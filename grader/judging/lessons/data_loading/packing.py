"""Judges a packed sequence: its four tensors, and the logits that a model makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.data_loading.packing import PARTS, PackingCase, packing_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LARGEST_ROUNDING = 1e-3  # of logits of size 10: packed and unpacked rows sum in another order


def pack_rows(rows: Sequence[Tensor], time: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return tokens, positions, mask and targets of one sequence."""
    tokens = torch.zeros(time, dtype=torch.int64)
    positions = torch.zeros(time, dtype=torch.int64)
    mask = torch.eye(time, dtype=torch.bool)
    targets = torch.full((time,), -100)
    start = 0
    for row in rows:
        end = start + len(row)
        tokens[start:end] = row
        positions[start:end] = torch.arange(len(row))
        mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril()
        targets[start : end - 1] = row[1:]
        start = end
    return tokens, positions, mask, targets


def judge_packed_rows(observation: Observation, seed: int) -> Verdict:
    """Compare the tensors, then the logits with those of each text alone."""
    cases = packing_cases(seed)
    values = [{part: observation.tensors[f"{number}.{part}"] for part in PARTS} for number in range(len(cases))]
    apart = [
        _distance(case, observation.tensors[f"{number}.logits"]) for number, case in enumerate(cases)
    ]  # of each case
    answer = TABLE.answer(seed, values)
    for part in PARTS:
        one = answer.part(part)
        if one.is_right:
            continue
        number = one.wrong[0]
        case = cases[number]
        expected = f"{part} {_say(one.truth)} for texts of {', '.join(map(str, case.lengths))} tokens, time {case.time}"
        measured = f"{_say(one.value)}; logits up to {apart[number]:.1g} from those of each text alone"
        return TABLE.explain(answer, one, expected=expected, measured=measured, otherwise=OTHERWISE.get(part, ""))
    if max(apart) > LARGEST_ROUNDING:
        raise ValueError(f"right tensors, and logits {max(apart)} from those of each text alone")
    return Verdict(PASSED, "", f"logits within {max(apart):.0e} of those of each text alone, in {len(cases)} sequences")


@lru_cache(maxsize=64)
def unpacked_logits(case: PackingCase) -> Tensor:
    """Return the logits of each text alone, one after the other."""
    model = case.make_model()
    with torch.no_grad():
        return torch.cat([model(row[None])[0] for row in case.draw()])


def _distance(case: PackingCase, logits: Tensor) -> float:
    truth = unpacked_logits(case)
    return float((logits[: len(truth)] - truth).abs().max())


def _differs_in_padding(seen: Tensor, case: PackingCase) -> bool:
    end = sum(case.lengths)
    return bool(seen.any()) and not seen[:end, :end].any()


def _say(value: Tensor) -> str:
    if value.dim() == 2:
        return f"that lets the rows see {value.sum(dim=1).tolist()} positions"
    return str(value.tolist())


def _run(pack: Callable[..., tuple[Tensor, ...]], case: PackingCase) -> dict[str, Tensor]:
    return dict(zip(PARTS, pack(case.draw(), case.time), strict=True))


OTHERWISE = {
    "tokens": "You hold other tokens than those of the texts, each once, and 0 for what is left over.",
    "positions": "Print your positions. Where does each text begin?",
}
BLOCK = "torch.ones(len(row), len(row), dtype=torch.bool).tril()"
STRICT = BLOCK.replace("tril()", "tril(-1)")
MASK = "mask = torch.eye(time, dtype=torch.bool)"
NOTHING = "mask = torch.zeros(time, time, dtype=torch.bool)"
WRITE_MASK = f"mask[start:end, start:end] = {BLOCK}"
WRITE_POSITIONS = "positions[start:end] = torch.arange(len(row))"
WRITE_TARGETS = "targets[start : end - 1] = row[1:]"
END = "    return tokens, positions, mask, targets"
CAUSAL = "torch.ones(time, time, dtype=torch.bool).tril()"
SHIFTED = "targets[: start - 1] = tokens[1:start]"

TABLE = ReferenceTable(
    pack_rows,
    Misconception(
        "plain_causal_mask",
        "You let a text attend to those before it in the sequence: cross-talk. The mask is a block for each text.",
        {MASK: f"mask = {CAUSAL}", WRITE_MASK: "pass"},
        variants=[
            {END: f"    mask[:start, :start] = torch.ones(start, start, dtype=torch.bool).tril()\n{END}"},
            {WRITE_MASK: "mask[start:end, :end] = torch.ones(end, end, dtype=torch.bool).tril()[start:]"},
        ],
    ),
    Misconception(
        "future_visible",
        "You let a token see later tokens of its text, its own target among them. A block of the mask is causal: "
        "take its lower triangle.",
        {BLOCK: "torch.ones(len(row), len(row), dtype=torch.bool)"},
    ),
    Misconception(
        "mask_transposed",
        "You let a token see the later ones only: the mask is transposed. Rows attend, columns are attended to.",
        {BLOCK: "torch.ones(len(row), len(row), dtype=torch.bool).triu()"},
    ),
    Misconception(
        "itself_hidden",
        "You hide each token from itself, so the first token of a text sees nothing and its softmax is NaN. Keep the "
        "diagonal.",
        {BLOCK: STRICT},
        variants=[{BLOCK: STRICT, MASK: NOTHING}],
    ),
    Misconception(
        "mask_inverted",
        "You mark what is hidden. In F.scaled_dot_product_attention True means that a position takes part.",
        {END: f"    mask = ~mask\n{END}"},
    ),
    Misconception(
        "padding_sees_nothing",
        "You let a padding position see nothing: its softmax is NaN. Let it attend to itself.",
        {MASK: NOTHING},
    ),
    Misconception(
        "padding_takes_part",
        "You let the padding take part: it sees more than itself, or texts see it. Each padding position attends to "
        "itself alone.",
        shown_by=lambda answer: answer.key == "mask" and _differs_in_padding(answer.value & ~answer.truth, answer.case),
    ),
    Misconception(
        "token_0_taken_for_padding",
        "You take each token 0 for padding, but texts contain it, too. Only the positions after the last text are "
        "padding.",
        {END: f"    mask &= (tokens > 0) & (tokens > 0)[:, None] | torch.eye(time, dtype=torch.bool)\n{END}"},
        variants=[
            {END: f"    mask &= (tokens > 0) | torch.eye(time, dtype=torch.bool)\n{END}"},
            {END: f"    targets[targets == 0] = -100\n{END}"},
        ],
    ),
    Misconception(
        "positions_not_reset",
        "You number the positions through. Each text starts at position 0 again, as it does alone.",
        {WRITE_POSITIONS: "positions[start:end] = torch.arange(start, end)"},
        variants=[
            {"positions = torch.zeros(time, dtype=torch.int64)": "positions = torch.arange(time)"}
            | {WRITE_POSITIONS: "pass"}
        ],
    ),
    Misconception(
        "positions_from_one",
        "You count positions from 1. A text alone starts at position 0.",
        {WRITE_POSITIONS: "positions[start:end] = torch.arange(1, len(row) + 1)"},
    ),
    Misconception(
        "positions_go_on_in_padding",
        "You number the padding. It has position 0.",
        {END: f"    positions[start:] = torch.arange(time - start)\n{END}"},
        variants=[{END: f"    positions[start:] = torch.arange(start, time)\n{END}"}],
    ),
    Misconception(
        "target_across_the_border",
        "You let the last token of a text predict the first one of the next. Nothing follows it: its target is -100.",
        {WRITE_TARGETS: "pass", END: f"    {SHIFTED}\n{END}"},
        variants=[{WRITE_TARGETS: "pass", END: f"    targets[:-1] = tokens[1:]\n{END}"}],
    ),
    Misconception(
        "targets_not_shifted",
        "You ask for the token that is read. The target of a position is the next token.",
        {WRITE_TARGETS: "targets[start:end] = row"},
        variants=[{WRITE_TARGETS: "targets[start + 1 : end] = row[1:]"}],
    ),
    hard_coded(packing_cases),
    Misconception(
        "tokens_in_other_places",
        "You hold the right tokens in other places. Keep the order of `rows`, begin at position 0, and leave no gap "
        "between texts: what is left over is at the end.",
        shown_by=lambda answer: (
            answer.key == "tokens" and bool((answer.value.sort()[0] == answer.truth.sort()[0]).all())
        ),
    ),
    Misconception(
        "too_much_visible",
        "You let some position see more than itself and earlier ones of its own text. Print your mask as numbers. "
        "It has to know which text each position is in, also where two texts are equally long.",
        shown_by=lambda answer: answer.key == "mask" and bool((answer.value & ~answer.truth).any()),
    ),
    Misconception(
        "too_little_visible",
        "You hide from some position itself, or an earlier one of its own text, and nothing else is wrong. Print your "
        "mask as numbers, and look for the rows that see too few columns.",
        shown_by=lambda answer: answer.key == "mask",
    ),
    Misconception(
        "target_where_nothing_follows",
        "You give a target to a position that has none: the last of a text, or what is left over. It is -100 there; 0 "
        "is a token like others.",
        shown_by=lambda answer: (
            answer.key == "targets" and bool((answer.value == answer.truth)[answer.truth != -100].all())
        ),
    ),
    Misconception(
        "other_targets",
        "You ask for something else where a next token exists in the same text. Print tokens and targets below each "
        "other: each target is the token one place to the right.",
        shown_by=lambda answer: answer.key == "targets",
    ),
    run=_run,
    cases=packing_cases,
)
