"""Judges the faults that were found in checkpoints."""

from __future__ import annotations

from grader.lessons.gradient_checkpointing.faults import FAULTS, FaultsCase, faults_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOOK_AT = {
    "parameter_gradients": "Look at .grad of the parameters after backward, with none left from an earlier run.",
    "random_state": "Compare gradients of the plain block and of the checkpoint under dropout, from one manual_seed.",
    "input_without_gradient": "Test whether the output needs a gradient where the input has requires_grad=False.",
    "no_recompute": "Count the runs of the block in forward and backward of one call, with a hook before it.",
}

# A fault that looks like another one to a test: for the reported name, the fault that is there, and where to look.
IMPLIED = {
    "random_state": {
        "parameter_gradients": "You take None for a wrong gradient. Compare the gradients that both runs have."
    },
    "parameter_gradients": {
        "input_without_gradient": "You let another fault hide the gradients. Test the parameters with an input that "
        "needs one."
    },
}


def faults_of(case: FaultsCase) -> frozenset[str]:
    """Return the names of the faults that a checkpoint has."""
    is_sound = (case.fills_parameters, case.restores_random_state, case.needs_gradient, case.runs_again)
    return frozenset(name for name, holds in zip(FAULTS, is_sound, strict=True) if not holds)


def judge_found_faults(observation: Observation, seed: int) -> Verdict:
    """Compare the names found for each checkpoint; what holds for all of them is reported first."""
    cases, found = faults_cases(seed), [set(names) for names in observation.facts["found"]]
    pairs = [(set(faults_of(case)), names) for case, names in zip(cases, found, strict=True)]
    if all(faults == names for faults, names in pairs):
        measured = f"{sum(map(len, found))} faults in {len(cases)} checkpoints, and none where there is none"
        return Verdict(PASSED, "every fault found", measured)
    if not any(found):
        look_at = "You find no fault in any checkpoint. Look at what your tests compare."
        return Verdict("no_fault_found", "every fault found", "no fault in any checkpoint", look_at)
    if len({frozenset(names) for names in found}) == 1:
        look_at = (
            "You return the same names for every checkpoint. Look at whether your tests run the one that is given."
        )
        return Verdict("same_for_every_checkpoint", "each checkpoint tested", _say(found[0]), look_at)
    if all(len(names) == min(len(faults), 1) and names <= faults for faults, names in pairs):
        faults, names = next(pair for pair in pairs if len(pair[0]) > 1)
        look_at = "You stop at the first fault, but some checkpoints have several. Run all tests on each of them."
        return Verdict("first_fault_only", _say(faults), _say(names), look_at)
    return _explain_torch(cases, found) or _explain(pairs)


def _explain_torch(cases: tuple[FaultsCase, ...], found: list[set[str]]) -> Verdict | None:
    """Find out whether runs are counted where they end: the second run of torch's checkpoint has no end."""
    reported = [case.is_torch for case, names in zip(cases, found, strict=True) if names - faults_of(case)]
    torchs = next(names for case, names in zip(cases, found, strict=True) if case.is_torch)
    if reported != [True] or "no_recompute" not in torchs:
        return None
    look_at = (
        "You count runs where they end, but torch ends the second run early. Count them with a hook before the block."
    )
    return Verdict("end_of_a_run_counted", "no fault in torch's own checkpoint", _say(torchs), look_at)


def _explain(pairs: list[tuple[set[str], set[str]]]) -> Verdict:
    """Name the fault that was missed, or reported where it is not."""
    missed = {name: (faults, names) for faults, names in pairs for name in faults - names}
    reported = {name: (faults, names) for faults, names in pairs for name in names - faults}
    if len(missed) > 1:
        faults, names = next(iter(missed.values()))
        look_at = (
            f"You miss {', '.join(sorted(missed))} in checkpoints that have these faults. Look at each of the tests."
        )
        return Verdict("several_faults_missed", _say(faults), _say(names), look_at)
    for name in FAULTS:
        if all((name in faults) != (name in names) for faults, names in pairs):
            faults, names = missed[name]
            return Verdict(
                f"{name}_turned_round",
                _say(faults),
                _say(names),
                f"You report {name} exactly where it is not. Turn the condition round.",
            )
    if not missed and len(reported) == 1:
        verdict = _explain_implied(pairs, *reported)
        if verdict:
            return verdict
    for kind, misses, said in (
        ("missed", missed, "You miss {} in a checkpoint that has it."),
        ("reported", reported, "You report {} in a checkpoint that does not have it."),
    ):
        for name in FAULTS:
            if name in misses:
                faults, names = misses[name]
                return Verdict(f"{name}_{kind}", _say(faults), _say(names), f"{said.format(name)} {LOOK_AT[name]}")
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
