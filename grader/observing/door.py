"""The two ways from a check to its judge: in this kernel, or out of it."""

from __future__ import annotations

import importlib

from grader.channel import EMIT, MEDIA_TYPE, OBSERVE_VARIABLE, kernel_settings
from grader.observation import Observation, decode_observation, encode_observation
from grader.observing.contract import fail
from grader.registry import judge_of
from grader.verdict import Verdict


def is_judged_outside() -> bool:
    """Whether this is the kernel of a class, which has no judges."""
    return kernel_settings().is_judged_outside


def ask_judge(check: str, observation: Observation, seed: int) -> Verdict:
    """Decode the written observation and pass it to the judge of a check.

    The observation passes as text, here as in a class, so a verdict never depends on live objects of the learner's.

    Args:
        check: Public name of the check.
        observation: What the check saw.
        seed: Seed of the case that it was seen on.

    Returns:
        The judge's verdict.
    """
    seen = decode_observation(_written(observation))
    module, judge = judge_of(check)
    verdict: Verdict = getattr(importlib.import_module(module), judge)(seen, seed)
    return verdict


def emit_observation(observation: Observation) -> None:
    """Show the observation to the runner outside, as the one output of its media type.

    Raises:
        RuntimeError: if this is no kernel.
    """
    from IPython import get_ipython

    text = _written(observation)
    shell = get_ipython()
    if shell is None:
        raise RuntimeError(f"{OBSERVE_VARIABLE}={EMIT} is for a kernel of a class: unset it, and the check judges here")
    shell.display_pub.publish({MEDIA_TYPE: text})


def _written(observation: Observation) -> str:
    """Write an observation; an answer that leaves more of it than a judge reads fails here."""
    text = encode_observation(observation)
    try:
        decode_observation(text)
    except ValueError as error:
        look_at = "You run more updates than a judge can read. Look at how often your loop runs."
        fail("too_much_to_judge", "a record that a judge can read", str(error), look_at)
    return text
