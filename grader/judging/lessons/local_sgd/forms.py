"""Judges Accelerate's LocalSGD: used as taught, and equal to local SGD by hand."""

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
    "gradients_averaged": "You let the prepared model all-reduce its gradients. Put LocalSGD around the whole loop: "
    "it switches that off.",
    "gradient_not_averaged": "You do not divide by k. Call accelerator.backward(loss), which does, and not "
    "loss.backward().",
    "gradient_divided_twice": "You divide by k, but accelerator.backward does so already.",
    "update_every_micro_batch": "You update after every micro-batch. Give gradient_accumulation_steps=k to the "
    "Accelerator, and enter accelerator.accumulate(model).",
    "other_inputs": "You run other micro-batches than those of the dataset. Its rows are in order: do not shuffle.",
    "other_weights": "You use another optimizer or learning rate. Make SGD with learning_rate, and step once per "
    "update.",
    "cleared_within_group": "You clear the gradients within a group. zero_grad() of the prepared optimizer waits for "
    "its last micro-batch if it follows step().",
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
        return Verdict(
            "accelerator_not_used",
            expected,
            "nothing prepared",
            "You do not use Accelerate. Prepare model, optimizer and loader, and call accelerator.backward.",
        )
    for name in ("model", "optimizer", "loader"):
        if name not in library["prepared"]:
            return Verdict(
                f"{name}_not_prepared",
                expected,
                f"no {name} prepared",
                f"You do not prepare the {name}. Give it to accelerator.prepare.",
            )
    if len(library["backward"]) < len(evidence.facts["forward_rows"]):
        measured = f"{count(len(library['backward']), 'call')} of accelerator.backward"
        return Verdict(
            "accelerator_backward_not_used",
            expected,
            measured,
            "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss).",
        )
    rows = evidence.facts["forward_rows"]
    if any(one != case.rows for one in rows):
        measured = f"a forward of {next(one for one in rows if one != case.rows)} rows"
        return Verdict(
            "other_rows",
            f"forwards of {case.rows} rows",
            measured,
            "You give a forward another number of rows. Look at the batch size of the loader: it is that of one rank.",
        )
    if len(rows) == 2 * case.micro_batches:
        look_at = "You go through the loader twice, but one epoch is asked for."
        return Verdict("epoch_repeated", f"{case.micro_batches} forwards", f"{len(rows)} forwards", look_at)
    if not made:
        return Verdict(
            "local_sgd_not_used",
            expected,
            "no LocalSGD was made",
            "You do not use LocalSGD. Import it from accelerate.local_sgd, and enter it around the loop.",
        )
    if len(made) > 1:
        look_at = "You make a LocalSGD more than once. A single one around the whole loop counts in it."
        return Verdict("local_sgd_made_again", expected, f"{len(made)} of them on a rank", look_at)
    if not made[0][1]:
        return Verdict(
            "local_sgd_disabled",
            expected,
            "a LocalSGD that is not enabled",
            "You switch LocalSGD off. Leave enabled at True.",
        )
    return _judge_steps(case, evidence, made)


def _judge_steps(case: EpochCase, evidence: RankEvidence, made: Sequence[Sequence[int]]) -> Verdict | None:
    steps, _, calls = (int(one) for one in made[0])
    apart = steps * case.micro_batches / max(calls, 1)  # micro-batches between two averages
    wanted = case.k * case.every
    expected = f"an average after {case.every} updates of {case.k} micro-batches"
    if not calls:
        look_at = (
            "You never call local_sgd.step(), so LocalSGD cannot count. Call it for each micro-batch, or "
            "for each update."
        )
        return Verdict("step_not_called", expected, "local_sgd.step() was not called", look_at)
    # A call for each update, and none for the other micro-batches, is as good as one for each micro-batch.
    if (calls, steps) in (((case.micro_batches // case.k), case.every), (case.micro_batches, wanted)):
        return None
    measured = f"local_sgd_steps = {steps}, and {count(calls, 'call')} of step() for {case.micro_batches} micro-batches"
    if apart == case.every:
        look_at = (
            "You count micro-batches where `every` counts updates: step() counts its own calls. Average "
            "after k * every of them."
        )
        return Verdict("micro_batches_counted", expected, measured, look_at)
    if calls == (case.micro_batches // case.k) and steps == wanted:
        look_at = "You call step() for each update, and multiply by k in addition. One of them is enough."
        return Verdict("multiplied_by_k_too", expected, measured, look_at)
    if apart == case.k * (case.every + 1) or (calls, steps) == (case.micro_batches, wanted + 1):
        look_at = "You average one update or one call too late. step() counts from 1."
        return Verdict("averaged_one_too_late", expected, measured, look_at)
    if (calls, steps) == (case.micro_batches, max(1, case.every // case.k)):
        look_at = "You divide `every` by k. One update is k calls of step(), so `every` updates are k * every calls."
        return Verdict("divided_by_k", expected, measured, look_at)
    look_at = (
        "You average after another number of updates. Multiply out how many calls of step() are between two averages."
    )
    return Verdict("other_steps", expected, measured, look_at)
