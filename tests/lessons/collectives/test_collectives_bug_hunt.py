"""The function of lesson 14's bug hunt has the faults that its text names, and no others."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch
from rank_simulation import observe, run

from grader.judging.lessons.collectives.ring import judge_ring_average
from grader.lessons.collectives.reductions import average_cases

LESSON = Path(__file__).resolve().parents[3] / "solutions" / "14_collectives.py"
REPAIRS = {
    "second loop": ("[(rank - i) % world_size] += receive", "[(rank - i) % world_size] = receive"),
    "lengths": ("split(tensor.numel() // world_size)", "tensor_split(world_size)"),
    "shape": ("torch.cat(pieces)", "torch.cat(pieces).view_as(tensor)"),
    "input": ("tensor.flatten()", "tensor.clone().flatten()"),
}


def average(*repaired: str):
    """Return the function as it is printed, with some of its faults repaired."""
    text = LESSON.read_text(encoding="utf-8")
    start = text.index("# def average_gradients(")
    source = "\n".join(line[2:] for line in text[start : text.index("# ```", start)].splitlines())
    for name in repaired:
        faulty, right = REPAIRS[name]
        assert source.count(faulty) == 1
        source = source.replace(faulty, right)
    names = {"torch": torch}
    exec(source, names)
    return names["average_gradients"]


def judged(collective, seed: int, cases: int):
    stop = {"stopped": ["raised", "", "", ""]} if cases < len(average_cases(seed)) else {}
    return judge_ring_average(observe(collective, average_cases(seed)[:cases], **stop), seed)


@pytest.mark.parametrize("seed", [0, 20011])
def test_all_four_repairs_make_it_right(seed):
    assert judged(average(*REPAIRS), seed, len(average_cases(seed))).is_passed


@pytest.mark.parametrize("count", range(len(REPAIRS)))
def test_fewer_repairs_never_do(count):
    for repaired in combinations(REPAIRS, count):
        assert not judged(average(*repaired), 0, 3).is_passed, repaired


@pytest.mark.parametrize(
    ("fault", "code"),
    [("second loop", "added_in_second_half"), ("lengths", "divided_by_pieces"), ("input", "input_changed")],
)
def test_each_fault_alone_is_reported_by_its_name(fault, code):
    repaired = [name for name in REPAIRS if name != fault]
    assert judged(average(*repaired), 0, 3).code == code


def test_the_text_says_what_the_printed_function_does():
    def tried(elements: tuple[int, ...]):
        tensors = torch.stack([torch.full(elements, 16.0**rank, dtype=torch.float64) for rank in range(4)])
        return run(average(), tensors)

    of_eight = {f"{int(number):x}" for seen in tried((8,)) for number in 4 * seen["returned"]}
    assert any(set(number) - set("01") for number in of_eight)  # digits above 1
    assert not all(seen["is_input_kept"] for seen in tried((8,)))
    assert [len(piece) for piece in torch.arange(10).split(10 // 4)] == [2] * 5
    assert tried((2, 4))[0]["returned"].shape == (8,)
    with pytest.raises(RuntimeError, match="split_size can only be 0"):
        average()(torch.ones(3), 0, 4, None, None)
