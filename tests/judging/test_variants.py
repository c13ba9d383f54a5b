"""The variants of the exams: each proves its misconceptions, and none can be asked for under another name."""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import pytest

import grader
from grader.judging.proof import prove
from grader.judging.variants import FamilyJudge
from grader.observing.contract import CheckFailed
from grader.registry import is_check, judge_of
from grader.variants import count_variants, family_of, number_of, options_of

LESSONS = Path(grader.__file__).parent / "lessons"
TOPICS = sorted(path.parent.name for path in LESSONS.glob("*/exam.toml"))
SOME = 24  # variants of a topic that are tried


def some_variants(topic: str) -> list[int]:
    return random.Random(topic).sample(range(count_variants(topic)), SOME)


def families_of(topic: str) -> dict[str, FamilyJudge]:
    module = importlib.import_module(f"grader.judging.lessons.{topic}.exam")
    return {name: value for name, value in vars(module).items() if isinstance(value, FamilyJudge)}


@pytest.mark.parametrize("topic", TOPICS)
def test_some_variants_meet_every_option(topic: str) -> None:
    chosen = [options_of(topic, number) for number in some_variants(topic)]
    for name in chosen[0]:
        drawn = {options_of(topic, number)[name] for number in range(count_variants(topic))}
        assert {options[name] for options in chosen} == drawn, name


@pytest.mark.parametrize(("topic", "family"), [(topic, family) for topic in TOPICS for family in families_of(topic)])
def test_each_variant_names_its_misconceptions(topic: str, family: str) -> None:
    judge = families_of(topic)[family]
    for number in some_variants(topic):
        prove(judge.table(options_of(topic, number)))


def test_every_variant_is_another_choice_of_options() -> None:
    for topic in TOPICS:
        drawn = {tuple(options_of(topic, number).values()) for number in range(count_variants(topic))}
        assert len(drawn) == count_variants(topic) >= 100


@pytest.mark.parametrize(
    "name", ["check_exam_rates_v192", "check_exam_rates_v01", "check_exam_rates_v", "check_exam_x_v1"]
)
def test_a_variant_that_does_not_exist_is_no_name_of_the_course(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(grader, name)


def test_a_check_and_its_judge_carry_the_number_of_the_variant() -> None:
    assert (family_of("check_exam_rates_v17"), number_of("check_exam_rates_v17")) == ("check_exam_rates", 17)
    assert (family_of("check_exam_rates"), number_of("check_exam_rates")) == ("check_exam_rates", 0)
    assert is_check("check_exam_rates_v17") and grader.check_exam_rates_v17 is grader.check_exam_rates_v17
    assert judge_of("check_exam_rates_v17") == (
        "grader.judging.lessons.learning_rate_schedules.exam",
        "judge_exam_rates_v17",
    )


@pytest.mark.parametrize(
    ("check", "answer", "code"),
    [
        (
            "check_exam_updates_v0",
            lambda rows, batch, ranks, k, epochs: epochs * -(-rows // batch // k),
            "unrecognised",
        ),
        (
            "check_exam_updates_v0",
            lambda rows, batch, ranks, k, epochs: epochs * (rows // (batch * ranks)),
            "micro_batches_counted",
        ),
        ("check_exam_training_bytes_v0", lambda trained, frozen: 16 * (trained + frozen), "frozen_weights_trained"),
        ("check_exam_training_bytes_v0", lambda trained, frozen: 16 * trained, "frozen_weights_forgotten"),
        ("check_exam_scales_v0", lambda start, interval, overflows: start, "no_list_returned"),
        ("check_exam_scales_v0", lambda start, interval, overflows: [start] * len(overflows), "unrecognised"),
    ],
)
def test_a_wrong_answer_to_a_variant_is_reported_by_name(check, answer, code) -> None:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check)(answer)
    assert failure.value.code == code
