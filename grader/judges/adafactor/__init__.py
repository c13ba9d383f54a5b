"""Verdicts on lesson 07: Adafactor."""

from grader.judges.adafactor.elements import judge_adafactor_elements
from grader.judges.adafactor.forms import judge_adafactor_accelerate_form, judge_adafactor_trainer_form
from grader.judges.adafactor.moments import judge_factored_moment
from grader.judges.adafactor.rates import judge_adafactor_rates
from grader.judges.adafactor.updates import judge_adafactor_steps

__all__ = [
    "judge_adafactor_accelerate_form",
    "judge_adafactor_elements",
    "judge_adafactor_rates",
    "judge_adafactor_steps",
    "judge_adafactor_trainer_form",
    "judge_factored_moment",
]
