from __future__ import annotations

import pytest
import torch
from transformers.optimization import Adafactor

from grader.judging.lessons.adafactor.elements import judge_adafactor_elements, predict_adafactor_elements
from grader.judging.lessons.adafactor.rates import adafactor_rate, judge_adafactor_rates
from grader.lessons.adafactor.elements import LIBRARIES, ElementsCase, elements_cases
from grader.lessons.adafactor.rates import RateCase, rate_cases
from grader.meters.optimizer_state import optimizer_state_elements
from grader.observation import Observation
from grader.testbed.optimizer_states import TensorKind, distilbert_tensors

SEEDS = (0, 20011)


def test_the_numbers_of_distilbert() -> None:
    counted = [predict_adafactor_elements(distilbert_tensors(), library) for library in LIBRARIES]
    assert counted == [178_608, 178_712, 65_961_754]
    assert counted[1] - counted[0] == len(distilbert_tensors()) == 104
    assert counted[2] - counted[1] == 65_783_042


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_count_is_what_the_library_keeps(library: str, seed: int) -> None:
    small = [TensorKind(tuple(min(side, 6) for side in kind.shape), kind.dtype, kind.is_trained)
             for case in elements_cases(seed)[2:] for kind in case.tensors]  # fmt: skip
    case = ElementsCase(library, tuple(small))
    parameters = case.make_parameters("cpu")
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
    optimizer = case.make_optimizer(parameters)
    optimizer.step()
    assert optimizer_state_elements(optimizer) == predict_adafactor_elements(case.tensors, library)


def rate_of(case: RateCase) -> float:
    return adafactor_rate(case.form, case.lr, case.step, case.weight_rms)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_rate_is_that_of_the_libraries(seed: int) -> None:
    options = {"Trainer": (False, False, False), "transformers": (True, True, False), "warm-up": (True, True, True)}
    options["scaled"] = (False, True, False)
    for case in rate_cases(seed):
        if case.form == "torch":
            continue
        relative, scaled, warm_up = options[case.form]
        group = {"lr": case.lr, "relative_step": relative, "scale_parameter": scaled, "warmup_init": warm_up}
        state = {"step": case.step, "RMS": case.weight_rms}
        assert Adafactor._get_lr(group | {"eps": (1e-30, 1e-3)}, state) == pytest.approx(rate_of(case))
    case = next(case for case in rate_cases(seed) if case.form == "torch" and case.weight_rms > 0.5)
    weight = torch.nn.Parameter(torch.full((3,), case.weight_rms))
    weight.grad = torch.ones(3)
    torch.optim.Adafactor([weight], lr=case.lr).step()
    assert float((case.weight_rms - weight.detach())[0]) == pytest.approx(rate_of(case), rel=1e-3)


def test_numbers_that_no_misconception_explains_are_not_named() -> None:
    elements = Observation({"predicted_elements": list(range(1, 1 + len(elements_cases(0))))})
    assert judge_adafactor_elements(elements, 0).code == "unrecognised"
    halved = Observation({"rates": [0.5 * rate_of(case) for case in rate_cases(3)]})
    assert judge_adafactor_rates(halved, 3).code == "unrecognised"
