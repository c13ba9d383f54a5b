"""Judges the answers to the concept inventory."""

from __future__ import annotations

import functools
from collections.abc import Callable

from grader.observation import Observation
from grader.questions import read_questions
from grader.verdict import PASSED, Verdict

Judge = Callable[[Observation, int], Verdict]


@functools.cache
def __getattr__(name: str) -> Judge:
    asked = {question.check.replace("check_", "judge_", 1): question for question in read_questions()}
    if name not in asked:
        raise AttributeError(f"the inventory has no question for {name!r}")
    question = asked[name]
    choices = {choice.letter: choice for choice in question.choices}

    def judge(observation: Observation, seed: int) -> Verdict:
        chosen = choices[observation.facts["letter"]]
        if not chosen.code:
            return Verdict(PASSED, "", f"{chosen.letter}: {chosen.text}")
        look_at = f"{chosen.diagnosis} Lesson {question.lesson} treats it."
        return Verdict(chosen.code, "another choice", f"{chosen.letter}: {chosen.text}", look_at)

    return judge
