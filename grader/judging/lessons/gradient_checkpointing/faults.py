"""Verdict on the faults that were found in checkpoints."""

from __future__ import annotations

from grader.lessons.gradient_checkpointing.faults import FAULTS, FaultsCase, faults_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOOK_AT = {
    "parameter_gradients": "parameters: after backward, is there a gradient in .grad, and none of an earlier run?",
    "random_state": "dropout: gradients of the plain block and of the checkpoint, both from one manual_seed",
    "input_without_gradient": "an input with requires_grad=False: does the output still need a gradient?",
    "no_recompute": "how often the block runs, in forward and backward together: a hook before it counts",
}

# A fault that looks like another one to a test: for the reported name, the fault that is there, and where to look.
IMPLIED = {
    "random_state": {"parameter_gradients": "None is no wrong gradient: compare those that both runs have"},
    "parameter_gradients": {
        "input_without_gradient": "test the parameters with an input that needs a gradient: each fault by itself"
    },
}


def faults_of(case: FaultsCase) -> frozenset[str]:
    """Return the names of the faults that a checkpoint has."""
    is_sound = (case.fills_parameters, case.restores_random_state, case.needs_gradient, case.runs_again)
    return frozenset(name for name, holds in zip(FAULTS, is_sound, strict=True) if not holds)


def judge_found_faults(observation: Observation, seed: int) -> Verdict:
    """Compare the names found for each checkpoint; what holds for all of them is told first."""
    cases, found = faults_cases(seed), [set(names) for names in observation.facts["found"]]
    pairs = [(set(faults_of(case)), names) for case, names in zip(cases, found, strict=True)]
    if all(faults == names for faults, names in pairs):
        measured = f"{sum(map(len, found))} faults in {len(cases)} checkpoints, and none where there is none"
        return Verdict(PASSED, "every fault found", measured)
    if not any(found):
        return Verdict("no_fault_found", "every fault found", "no fault in any checkpoint", "what your tests compare")
    if len({frozenset(names) for names in found}) == 1:
        look_at = "your answer is the same for every checkpoint: does it run the one that it is given?"
        return Verdict("same_for_every_checkpoint", "each checkpoint tested", _say(found[0]), look_at)
    if all(len(names) == min(len(faults), 1) and names <= faults for faults, names in pairs):
        faults, names = next(pair for pair in pairs if len(pair[0]) > 1)
        look_at = "a checkpoint with several faults: do the tests go on after the first one that fails?"
        return Verdict("first_fault_only", _say(faults), _say(names), look_at)
    return _explain_torch(cases, found) or _explain(pairs)


def _explain_torch(cases: tuple[FaultsCase, ...], found: list[set[str]]) -> Verdict | None:
    """Find out whether runs are counted where they end: the second run of torch's checkpoint has no end."""
    reported = [case.is_torch for case, names in zip(cases, found, strict=True) if names - faults_of(case)]
    torchs = next(names for case, names in zip(cases, found, strict=True) if case.is_torch)
    if reported != [True] or "no_recompute" not in torchs:
        return None
    look_at = "a hook that runs before the block: torch ends the second run early, and a hook after it never runs"
    return Verdict("end_of_a_run_counted", "no fault in torch's own checkpoint", _say(torchs), look_at)


def _explain(pairs: list[tuple[set[str], set[str]]]) -> Verdict:
    """Say which fault was missed, or reported where it is not."""
    missed = {name: (faults, names) for faults, names in pairs for name in faults - names}
    reported = {name: (faults, names) for faults, names in pairs for name in names - faults}
    if len(missed) > 1:
        faults, names = next(iter(missed.values()))
        look_at = f"tests for {', '.join(sorted(missed))}: some checkpoints have these faults"
        return Verdict("several_faults_missed", _say(faults), _say(names), look_at)
    for name in FAULTS:
        if all((name in faults) != (name in names) for faults, names in pairs):
            faults, names = missed[name]
            return Verdict(
                f"{name}_turned_round", _say(faults), _say(names), f"a condition turned round: {LOOK_AT[name]}"
            )
    if not missed and len(reported) == 1:
        verdict = _explain_implied(pairs, *reported)
        if verdict:
            return verdict
    for kind, misses in (("missed", missed), ("reported", reported)):
        for name in FAULTS:
            if name in misses:
                faults, names = misses[name]
                return Verdict(f"{name}_{kind}", _say(faults), _say(names), LOOK_AT[name])
    raise ValueError("names that are no faults")


def _explain_implied(pairs: list[tuple[set[str], set[str]]], name: str) -> Verdict | None:
    """Find out whether a fault is reported wherever a certain other one is, and nowhere else."""
    for other, look_at in IMPLIED.get(name, {}).items():
        if all((name in names) == bool({name, other} & faults) for faults, names in pairs):
            faults, names = next(pair for pair in pairs if name in pair[1] - pair[0])
            return Verdict(f"{name}_implied_by_{other}", _say(faults), _say(names), look_at)
    return None


def _say(names: set[str] | frozenset[str]) -> str:
    return f"faults: {', '.join(sorted(names))}" if names else "no fault"
