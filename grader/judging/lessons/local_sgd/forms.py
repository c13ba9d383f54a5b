"""Verdict on Accelerate's LocalSGD: used as taught, and equal to local SGD by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.judging.forms import count
from grader.judging.lessons.local_sgd.epochs import judge_epoch
from grader.judging.lessons.local_sgd.evidence import Epoch, RankEvidence, evidence_of
from grader.lessons.local_sgd.epochs import EpochCase, accelerated_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOOK_AT = {
    "gradients_averaged": "a prepared model all-reduces its gradients, unless a LocalSGD stands around the loop",
    "gradient_not_averaged": "who divides by k: accelerator.backward(loss) does, loss.backward() does not",
    "gradient_divided_twice": "accelerator.backward divides by k already: who divides again?",
    "update_every_micro_batch": "gradient_accumulation_steps of the Accelerator, and accelerator.accumulate(model)",
    "other_inputs": "the order: rows of a micro-batch stand side by side in the dataset. Does the loader shuffle?",
    "other_step": "the learning rate: which one is the optimizer given?",
    "other_weights": "which optimizer is made, and with what? SGD with learning_rate is asked for",
    "cleared_within_group": "zero_grad(): the prepared optimizer's acts at the last micro-batch of a group, so it has "
    "to follow step() there; any other acts each time",
}


def judge_local_sgd_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate, then every update and average."""
    cases = accelerated_cases(seed)
    evidence = [evidence_of(observation, number, case.world_size) for number, case in enumerate(cases)]
    for case, ranks in zip(cases, evidence, strict=True):
        verdict = next(filter(None, (_judge_use(case, one) for one in ranks)), None)
        if verdict:
            return verdict
    for case, ranks in zip(cases, evidence, strict=True):
        verdict = judge_epoch(Epoch(case, ranks))
        if verdict:
            return replace(verdict, look_at=LOOK_AT.get(verdict.code, verdict.look_at))
    updates = sum(case.micro_batches // case.k for case in cases)
    measured = f"{updates} updates on 2 and 3 ranks, with the averages in their places"
    return Verdict(PASSED, "local SGD with Accelerate", measured)


def _judge_use(case: EpochCase, evidence: RankEvidence) -> Verdict | None:
    library, made = evidence.facts["library"], evidence.facts["local_sgd"]
    expected = "model, optimizer and loader prepared, accelerator.backward, and a LocalSGD around the loop"
    if not library["prepared"] and not library["backward"]:
        return Verdict("accelerator_not_used", expected, "nothing prepared", "which lines Accelerate takes over")
    for name in ("model", "optimizer", "loader"):
        if name not in library["prepared"]:
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", "what accelerator.prepare is given")
    if len(library["backward"]) < len(evidence.facts["forward_rows"]):
        measured = f"{count(len(library['backward']), 'call')} of accelerator.backward"
        return Verdict("accelerator_backward_not_used", expected, measured, "loss.backward() does not ask Accelerate")
    rows = evidence.facts["forward_rows"]
    if any(one != case.rows for one in rows):
        measured = f"a forward of {next(one for one in rows if one != case.rows)} rows"
        return Verdict("other_rows", f"forwards of {case.rows} rows", measured, "the batch size of the loader")
    if len(rows) == 2 * case.micro_batches:
        look_at = "how often the loader is walked through: one epoch is asked for"
        return Verdict("epoch_repeated", f"{case.micro_batches} forwards", f"{len(rows)} forwards", look_at)
    if not made:
        return Verdict(
            "local_sgd_not_used", expected, "no LocalSGD was made", "from accelerate.local_sgd import LocalSGD"
        )
    if len(made) > 1:
        look_at = "one LocalSGD stands around the whole loop, and counts in it"
        return Verdict("local_sgd_made_again", expected, f"{len(made)} of them on a rank", look_at)
    if not made[0][1]:
        return Verdict("local_sgd_disabled", expected, "a LocalSGD that is not enabled", "enabled=True")
    return _judge_steps(case, evidence, made)


def _judge_steps(case: EpochCase, evidence: RankEvidence, made: Sequence[Sequence[int]]) -> Verdict | None:
    steps, _, calls = (int(one) for one in made[0])
    apart = steps * case.micro_batches / max(calls, 1)  # micro-batches between two averages
    wanted = case.k * case.every
    expected = f"an average after {case.every} updates of {case.k} micro-batches"
    if not calls:
        look_at = "who tells LocalSGD that a micro-batch is done?"
        return Verdict("step_not_called", expected, "local_sgd.step() was not called", look_at)
    # A call for each update, and none for the other micro-batches, is as good as one for each micro-batch.
    if (calls, steps) in (((case.micro_batches // case.k), case.every), (case.micro_batches, wanted)):
        return None
    measured = f"local_sgd_steps = {steps}, and {count(calls, 'call')} of step() for {case.micro_batches} micro-batches"
    if apart == case.every:
        look_at = "step() counts its own calls: one for each micro-batch, or one for each update?"
        return Verdict("micro_batches_counted", expected, measured, look_at)
    if calls == (case.micro_batches // case.k) and steps == wanted:
        look_at = "step() is called for each update already: who counts the k micro-batches again?"
        return Verdict("multiplied_by_k_too", expected, measured, look_at)
    if apart == case.k * (case.every + 1) or (calls, steps) == (case.micro_batches, wanted + 1):
        look_at = "step() counts from 1: after which update should the first average come?"
        return Verdict("averaged_one_too_late", expected, measured, look_at)
    if (calls, steps) == (case.micro_batches, max(1, case.every // case.k)):
        look_at = "one update is k calls of step(): are `every` updates more calls than `every`, or fewer?"
        return Verdict("divided_by_k", expected, measured, look_at)
    look_at = "how many calls of step() lie between two averages"
    return Verdict("other_steps", expected, measured, look_at)
