"""Judges the predicted bytes of a key-value cache."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.attention.cache import CacheCase, cache_cases
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, Verdict


def cache_bytes(
    layers: int,
    heads: int,
    key_heads: int,
    head_dim: int,
    time: int,
    window: int,
    global_every: int,
    number_bytes: int,
) -> float:
    """Return the bytes of keys and values of one sequence."""
    everywhere = layers // global_every
    local = layers - everywhere
    positions = everywhere * time + local * min(window, time)
    position = 2 * key_heads * head_dim * number_bytes
    return positions * position


def judge_cache_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the formula."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the bytes of {len(answer.values)} caches right")
    case: CacheCase = answer.case
    shape = f"{case.layers} layers, {case.key_heads} of {case.heads} heads with keys, {case.time:,} positions, "
    shape += f"a window of {case.window:,}, global_every = {case.global_every}"
    expected = f"{answer.truth:,} bytes for {shape}"
    measured = f"{answer.value:,.15g} bytes, {answer.value / answer.truth:.7g} times as many"
    verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(answer.only(answer.wrong[0]), expected, measured)
    return verdict or Verdict(*_otherwise(answer, expected, measured))


def _otherwise(answer: Answer, expected: str, measured: str) -> tuple[str, str, str, str]:
    case: CacheCase = answer.case
    if case.global_every == 1:
        look_at = f"You count {answer.value / answer.truth:.6g} times the right bytes where every layer keeps all "
        look_at += "positions, so no window is involved. Look for this factor in the bytes of a position and in the "
        look_at += "number of layers."
        return "position_miscounted", expected, measured, look_at
    everywhere = case.layers // case.global_every
    positions = answer.value / (2 * case.key_heads * case.head_dim * case.number_bytes)
    kept = (positions - everywhere * case.time) / (case.layers - everywhere)
    look_at = "You are right where every layer keeps all positions. Here, if your global layers and the bytes of a "
    look_at += f"position are right, you let each local layer keep {kept:,.6g} positions. It keeps "
    look_at += f"{min(case.window, case.time):,}: look at where your number comes from."
    return "local_positions_miscounted", expected, measured, look_at


def _run(size: Callable[..., float], case: CacheCase) -> float:
    shape = (case.layers, case.heads, case.key_heads, case.head_dim, case.time, case.window, case.global_every)
    return size(*shape, case.number_bytes)


RETURN, POSITION = "return positions * position", "position = 2 * key_heads * head_dim * number_bytes"
EVERYWHERE, POSITIONS = (
    "everywhere = layers // global_every",
    "positions = everywhere * time + local * min(window, time)",
)

TABLE = ReferenceTable(
    cache_bytes,
    Misconception(
        "mebibytes_for_bytes",
        "You return MiB, but bytes are asked for. Look at the last division.",
        {RETURN: f"return positions * position / {MIB}"},
    ),
    Misconception(
        "values_forgotten",
        "You count keys or values. The cache holds both.",
        {POSITION: "position = key_heads * head_dim * number_bytes"},
    ),
    Misconception(
        "query_heads_counted",
        "You count a key for each query head. Heads of a group share one: that is what the cache saves.",
        {POSITION: "position = 2 * heads * head_dim * number_bytes"},
    ),
    Misconception(
        "heads_forgotten",
        "You count one head in each layer. Each of the `key_heads` heads has a key and a value of its own.",
        {POSITION: "position = 2 * head_dim * number_bytes"},
    ),
    Misconception(
        "groups_for_heads",
        "You take the query heads of a group for the number of key heads. Look at which number the cache has.",
        {POSITION: "position = 2 * (heads // key_heads) * head_dim * number_bytes"},
        variants=[{POSITION: "position = 2 * heads * key_heads * head_dim * number_bytes"}],
    ),
    Misconception(
        "keys_of_queries_added",
        "You add queries to the cache. A query is used once, when its own position is computed.",
        {POSITION: "position = (2 * key_heads + heads) * head_dim * number_bytes"},
    ),
    Misconception(
        "elements_for_bytes",
        "You count numbers, not bytes. Look at number_bytes.",
        {POSITION: "position = 2 * key_heads * head_dim"},
    ),
    Misconception(
        "window_ignored",
        "You let every layer keep all positions. A local layer keeps its window only.",
        {POSITIONS: "positions = layers * time"},
    ),
    Misconception(
        "longer_for_shorter",
        "You take the longer of window and sequence. A local layer keeps the shorter: look at max.",
        {POSITIONS: "positions = everywhere * time + local * max(window, time)"},
    ),
    Misconception(
        "all_layers_local",
        "You let every layer keep a window. Each layer that sees all positions keeps all of them.",
        {POSITIONS: "positions = layers * min(window, time)"},
    ),
    Misconception(
        "window_larger_than_the_sequence",
        "You count a full window where the sequence is shorter. A layer keeps no more positions than there are.",
        {POSITIONS: "positions = everywhere * time + local * window"},
    ),
    Misconception(
        "local_and_global_swapped",
        "You take each layer of `global_every` for a local one, and the others for global ones. Turn it round.",
        {EVERYWHERE: "everywhere = layers - layers // global_every"},
    ),
    Misconception(
        "ratio_for_period",
        "You take global_every for the local layers between two global ones. It counts the global one, too.",
        {EVERYWHERE: "everywhere = layers // (global_every + 1)"},
        variants=[{EVERYWHERE: "everywhere = layers / (global_every + 1)"}],
    ),
    Misconception(
        "period_for_count",
        "You take global_every for the number of global layers, or count only one. Each group of layers has one.",
        {EVERYWHERE: "everywhere = global_every"},
        variants=[{EVERYWHERE: "everywhere = 1"}],
    ),
    Misconception(
        "local_layers_miscounted",
        "You count another number of local layers than there are: all layers but the global ones. Look at that factor.",
        {"local = layers - everywhere": "local = layers"},
        variants=[{"local = layers - everywhere": "local = everywhere"}],
    ),
    hard_coded(cache_cases),
    run=_run,
    cases=cache_cases,
    is_near=within(relative=1e-6),
)
