"""The one way from a check to its judge."""

from __future__ import annotations

import importlib

from grader.observation import Observation, decode_observation, encode_observation
from grader.verdict import Verdict


def ask_judge(topic: str, property_name: str, observation: Observation, seed: int) -> Verdict:
    """Have the judge of one property look at an observation.

    The observation passes as text, here as in a class, so a verdict never depends on live objects of the learner's.

    Args:
        topic: Module in `grader.judges`, the lesson's stem without its number.
        property_name: What is judged: the name of the check without `check_`.
        observation: What the check saw.
        seed: Seed of the case that it was seen on.

    Returns:
        The judge's verdict.
    """
    seen = decode_observation(encode_observation(observation))
    judges = importlib.import_module(f"grader.judges.{topic}")
    verdict: Verdict = getattr(judges, f"judge_{property_name}")(seen, seed)
    return verdict
