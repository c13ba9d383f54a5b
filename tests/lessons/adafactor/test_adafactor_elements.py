from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.adafactor.counts import RIGHT, Count
from grader.judging.lessons.adafactor.elements import judge_adafactor_elements
from grader.judging.lessons.adafactor.miscounts import MISCOUNTS
from grader.judging.lessons.adafactor.rates import MISTAKES, Rate, judge_adafactor_rates
from grader.lessons.adafactor.elements import LIBRARIES, ElementsCase, elements_cases
from grader.lessons.adafactor.rates import rate_cases
from grader.meters.optimizer_state import optimizer_state_elements
from grader.observation import Observation
from grader.testbed.optimizer_states import TensorKind, distilbert_tensors

SEEDS = (0, 20011)


def told(seed: int, count: Count) -> str:
    answers = [count.of(case) for case in elements_cases(seed)]
    return judge_adafactor_elements(Observation({"predicted_elements": answers}), seed).code


def test_the_numbers_of_distilbert() -> None:
    counted = [RIGHT.of(ElementsCase(library, distilbert_tensors())) for library in LIBRARIES]
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
    assert optimizer_state_elements(optimizer) == RIGHT.of(case)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_count_passes(seed: int) -> None:
    assert told(seed, RIGHT) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("miscount", MISCOUNTS, ids=lambda miscount: miscount.code)
def test_every_miscount_is_named(miscount, seed: int) -> None:
    assert told(seed, Count(**miscount.changes)) == miscount.code


def test_answers_that_read_nothing() -> None:
    same = Observation({"predicted_elements": [178_712] * 6})
    assert judge_adafactor_elements(same, 0).code == "same_for_all"
    visible = Observation({"predicted_elements": [RIGHT.of(case) for case in elements_cases(0)]})
    assert judge_adafactor_elements(visible, 20011).code == "visible_case_hard_coded"


def rates(seed: int, rate: Rate) -> Observation:
    return Observation({"rates": [rate.of(case) for case in rate_cases(seed)]})


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_rate_is_that_of_the_libraries(seed: int) -> None:
    from transformers.optimization import Adafactor

    options = {"Trainer": (False, False, False), "transformers": (True, True, False), "warm-up": (True, True, True)}
    options["scaled"] = (False, True, False)
    for case in rate_cases(seed):
        if case.form == "torch":
            continue
        relative, scaled, warm_up = options[case.form]
        group = {"lr": case.lr, "relative_step": relative, "scale_parameter": scaled, "warmup_init": warm_up}
        state = {"step": case.step, "RMS": case.weight_rms}
        assert Adafactor._get_lr(group | {"eps": (1e-30, 1e-3)}, state) == pytest.approx(Rate().of(case))
    case = next(case for case in rate_cases(seed) if case.form == "torch" and case.weight_rms > 0.5)
    weight = torch.nn.Parameter(torch.full((3,), case.weight_rms))
    weight.grad = torch.ones(3)
    torch.optim.Adafactor([weight], lr=case.lr).step()
    assert float((case.weight_rms - weight.detach())[0]) == pytest.approx(Rate().of(case), rel=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_rates_pass(seed: int) -> None:
    assert judge_adafactor_rates(rates(seed, Rate()), seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "changes"), [(code, changes) for code, _, changes in MISTAKES])
def test_every_mistake_of_a_rate_is_named(code: str, changes: dict, seed: int) -> None:
    assert judge_adafactor_rates(rates(seed, Rate(**changes)), seed).code == code


def test_rates_times_a_constant_are_told() -> None:
    scaled = Observation({"rates": [0.5 * Rate().of(case) for case in rate_cases(3)]})
    assert judge_adafactor_rates(scaled, 3).code == "rate_scaled"
    nothing = Observation({"rates": [0.0 for _ in rate_cases(3)]})
    assert judge_adafactor_rates(nothing, 3).code == "same_for_all"
