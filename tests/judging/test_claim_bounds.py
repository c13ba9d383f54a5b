"""Each claimed peak has a bound from its case, which is large enough to matter and below every right answer."""

from __future__ import annotations

import inspect
import json
from importlib import import_module

import pytest

from grader.judging.__main__ import answer
from grader.judging.claim_bounds import BOUNDS, calls_fault, least_claims
from grader.judging.lessons.gradient_accumulation.token_peak import judge_token_peak
from grader.lessons.gradient_accumulation.tokens import token_budget_case
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation, encode_observation
from grader.registry import JUDGES, judge_of
from grader.units import KIB, MIB

SEEDS = (0, 20011, 1_234_567_890)
# The least that a right answer of the banks claims at seed 0, above entry and in MiB; claims in the check's order.
LEANEST = {
    "check_accumulation_accelerate": (3.04,),
    "check_accumulation_trainer": (3.11,),
    "check_adam_backward_peak": (15.42,),
    "check_attention_accelerate": (8.23,),
    "check_attention_trainer": (3.08,),
    "check_autocast_accelerate": (29.04,),
    "check_autocast_trainer": (29.89,),
    "check_budget_peak": (29.08, 57.05, 19.84, 69.53),
    "check_checkpoint_peak": (15.14,),
    "check_checkpointing_accelerate": (7.04,),
    "check_checkpointing_trainer": (7.42,),
    "check_chunked_peak": (4.07,),
    "check_lean_costs": (5.8,),
    "check_lean_job": (2.28,),
    "check_lean_step": (2.9,),
    "check_library_run": (5.8,),
    "check_offloaded_peak": (3.12,),
    "check_repaired_trainer": (3.11,),
    "check_streamed_peak": (0.375,),
    "check_tight_job": (1.67, 2.13),
    "check_tiled_memory": (0.304,),
    "check_token_peak": (1.78,),
    "check_update_peak": (7.01,),
}


@pytest.mark.parametrize("check", sorted(BOUNDS))
def test_a_bound_matters_and_leaves_room_for_the_leanest_right_answer(check: str) -> None:
    for seed in SEEDS:
        for least_bytes, leanest in zip(least_claims(check, seed), LEANEST[check], strict=True):
            assert 64 * KIB < least_bytes < leanest * MIB / 1.5


def test_every_judge_of_claims_has_a_bound() -> None:
    modules = [module for module in JUDGES if '["claims"]' in inspect.getsource(import_module(module))]
    assert len(modules) > 10
    for module in modules:
        assert {judge_of(check)[0] for check in BOUNDS} >= {module}, module
    assert set(BOUNDS) == set(LEANEST)


def test_the_judges_answer_holds_the_bound_of_each_claim() -> None:
    case = token_budget_case(SEEDS[0])
    entry = distinct_storage_bytes([*case.make_model().parameters(), *sum(case.make_micro_batches(), ())])
    claim = {"peak_bytes": entry + 2, "above_entry_bytes": 2, "device": "cpu"}
    observation = Observation({"claims": [claim], "events": [], "forward_rows": []})
    assert judge_token_peak(observation, SEEDS[0]).is_passed  # the judge itself has no lower bound
    asked = {"check": "check_token_peak", "seed": SEEDS[0], "observation": encode_observation(observation)}
    (answered,) = json.loads(json.dumps(answer(asked)))["claims"]
    assert answered == {"above_entry_bytes": 2, "device": "cpu", "least_bytes": MIB}


def test_a_measured_call_that_does_less_than_the_one_before_is_no_evidence() -> None:
    both = ["forward", "backward", "forward", "backward"]
    assert calls_fault("check_token_peak", {"events": both, "forward_rows": [4, 4]}) == ""
    assert "forward_rows" in calls_fault("check_token_peak", {"events": both, "forward_rows": [4, 1]})
    assert "events" in calls_fault("check_token_peak", {"events": both[:3], "forward_rows": [4, 4]})
    assert calls_fault("check_lean_job", {}) == ""
