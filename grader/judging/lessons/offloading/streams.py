"""Judges the predicted peak and time of a streamed model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.offloading.streams import StreamedModel, streamed_models
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

PEAK, SECONDS = PARTS = "peak", "seconds"
TOLERANCE = 1e-6  # sums in another order

Streamed = dict[str, float]


def stream(
    layer_bytes: Sequence[int], forward_seconds: Sequence[float], bytes_per_second: float, prefetch: bool
) -> Streamed:
    """Walk through forward and backward, and keep the time and the most bytes of weights held."""
    layers = len(layer_bytes)
    order = [*range(layers), *reversed(range(layers))]
    peak, seconds, computing, fetching = layer_bytes[0], layer_bytes[0] / bytes_per_second, 0.0, 0.0
    for place, layer in enumerate(order):
        compute = forward_seconds[layer] * (2 if place >= layers else 1)
        following = order[place + 1] if place + 1 < len(order) else layer
        fetched = 0 if following == layer else layer_bytes[following]
        fetch = fetched / bytes_per_second
        computing, fetching = computing + compute, fetching + fetch
        seconds += max(compute, fetch) if prefetch else compute + fetch
        held = layer_bytes[layer] + (fetched if prefetch else 0)
        peak = max(peak, held)
    return {"peak": peak, "seconds": seconds}


RESULT = '{"peak": peak, "seconds": seconds}'
FIRST = "layer_bytes[0] / bytes_per_second, 0.0, 0.0"
COMPUTE = "forward_seconds[layer] * (2 if place >= layers else 1)"
FETCHED = "0 if following == layer else layer_bytes[following]"
SLOT = "max(compute, fetch) if prefetch else compute + fetch"
HELD = "layer_bytes[layer] + (fetched if prefetch else 0)"
ORDER = "[*range(layers), *reversed(range(layers))]"

OTHERWISE = {
    PEAK: "Your peak is {ratio:.3g} times the right one. Add to each layer the larger of both its neighbours, if it "
    "has one; the layer before is freed already.",
    SECONDS: "Your time is {ratio:.4g} times the right one. Draw two rows, link and compute: in a slot the next layer "
    "arrives, the turn from forward to backward fetches nothing new, and nothing is sent back or rounded.",
}


def judge_streamed_prediction(observation: Observation, seed: int) -> Verdict:
    """Compare both numbers of every model with a walk through its schedule."""
    predicted = observation.facts["predicted"]
    answer = TABLE.answer(seed, [{PEAK: float(peak), SECONDS: float(seconds)} for peak, seconds in predicted])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        model = part.case
        layers = len(model.layer_bytes)
        about = f"{layers} layer{'s' if layers > 1 else ''}, prefetch={model.prefetch}"
        texts = [f"{number:,.0f} bytes" if name == PEAK else f"{number:.6f} s" for number in (part.truth, part.value)]
        expected = f"{'a peak' if name == PEAK else 'a time'} of {texts[0]} ({about})"
        otherwise = OTHERWISE[name].format(ratio=part.value / part.truth)
        return TABLE.explain(answer, part, expected=expected, measured=texts[1], otherwise=otherwise)
    return Verdict(PASSED, "", f"{len(predicted)} models, each with its peak and its time")


def _run(stream: Callable[..., Streamed], model: StreamedModel) -> Streamed:
    return stream(model.layer_bytes, model.forward_seconds, model.bytes_per_second, model.prefetch)


TABLE = ReferenceTable(
    stream,
    Misconception(
        "swapped",
        "You return the seconds first. Return the peak in bytes, then the seconds.",
        {RESULT: '{"peak": seconds, "seconds": peak}'},
    ),
    Misconception(
        "all_weights_held",
        "You hold all layers at the peak, as without streaming. Look at which are freed before the next one computes.",
        {RESULT: '{"peak": sum(layer_bytes), "seconds": seconds}'},
    ),
    Misconception(
        "one_layer_at_the_peak",
        "You hold one layer at the peak although the next one is arriving. Its memory is needed when its fetch begins.",
        {HELD: "layer_bytes[layer]"},
    ),
    Misconception(
        "two_largest_layers",
        "You add the two largest layers. Only neighbours are on the device together: compare the sums of neighbours.",
        {RESULT: '{"peak": sum(sorted(layer_bytes)[-2:]) if prefetch else peak, "seconds": seconds}'},
    ),
    Misconception(
        "largest_doubled",
        "You double the largest layer. What arrives meanwhile is its neighbour, which is smaller.",
        {RESULT: '{"peak": 2 * max(layer_bytes) if prefetch else peak, "seconds": seconds}'},
        variants=[{RESULT: '{"peak": 2 * max(layer_bytes) if prefetch and layers > 1 else peak, "seconds": seconds}'}],
    ),
    Misconception(
        "fetched_in_last_forward",
        "You begin backward's first fetch in the last layer's forward. It begins with that layer's backward.",
        {SLOT: "max(compute, fetch - forward_seconds[layer] * (place == layers)) if prefetch else compute + fetch"},
    ),
    Misconception(
        "turn_not_overlapped",
        "You hide nothing behind the last layer's backward. The fetch of the layer before it begins with it.",
        {SLOT: "max(compute, fetch) if prefetch and place != layers else compute + fetch"},
    ),
    Misconception(
        "always_two_layers",
        "You hold two layers without prefetch, too. There a fetch begins when the device is idle and its layer freed.",
        {HELD: "layer_bytes[layer] + fetched"},
    ),
    Misconception(
        "never_overlapped",
        "You add fetch and compute although they overlap. With prefetch, a slot lasts as long as the longer one.",
        {SLOT: "compute + fetch"},
    ),
    Misconception(
        "always_overlapped",
        "You overlap fetch and compute without prefetch, too. There the device waits for every fetch.",
        {SLOT: "max(compute, fetch)"},
    ),
    Misconception(
        "totals_overlapped",
        "You take the longer of two totals. A slow fetch cannot hide behind the compute of a distant layer: take the "
        "longer one in each slot.",
        {
            RESULT: '{"peak": peak, "seconds": layer_bytes[0] / bytes_per_second + max(computing, fetching) '
            "if prefetch else seconds}"
        },
        variants=[
            {
                RESULT: '{"peak": peak, "seconds": max(computing, layer_bytes[0] / bytes_per_second + fetching) '
                "if prefetch else seconds}"
            },
            {
                RESULT: '{"peak": peak, "seconds": max(sum(forward_seconds), sum(layer_bytes[1:]) / bytes_per_second) '
                "+ max(2 * sum(forward_seconds), sum(layer_bytes[:-1]) / bytes_per_second) "
                "+ layer_bytes[0] / bytes_per_second if prefetch else seconds}"
            },
        ],
    ),
    Misconception(
        "transfers_cost_nothing",
        "You hide every fetch but the first, however long it is. Where compute is shorter, the device waits.",
        {RESULT: '{"peak": peak, "seconds": layer_bytes[0] / bytes_per_second + computing if prefetch else seconds}'},
        variants=[{RESULT: '{"peak": peak, "seconds": computing if prefetch else seconds}'}],
    ),
    Misconception(
        "something_sent_back",
        "You send bytes back in backward. Weights are in far memory anyway, and the contract moves no gradients.",
        {"fetch = fetched /": "fetch = (fetched + (layer_bytes[layer] if place >= layers else 0)) /"},
    ),
    Misconception(
        "link_runs_ahead",
        "You let the link fetch one layer after the other without a pause. A fetch begins when the layer before begins "
        "to compute, so at most two are on the device.",
        {
            "seconds += max(compute, fetch) if prefetch else compute + fetch": "seconds = "
            "max(seconds + compute, layer_bytes[0] / bytes_per_second + fetching) if prefetch "
            "else seconds + compute + fetch"
        },
    ),
    Misconception(
        "own_fetch_compared",
        "You compare a layer's compute with its own fetch. That is over when it computes: the next layer arrives then.",
        {SLOT: "(max(compute, layer_bytes[layer] / bytes_per_second) if prefetch else compute + fetch)"},
        variants=[
            {
                FIRST: "0.0, 0.0, 0.0",
                SLOT: "(max(compute, layer_bytes[layer] / bytes_per_second) if prefetch "
                "else compute + layer_bytes[layer] / bytes_per_second)",
            },
            {
                FIRST: "(0.0 if prefetch else layer_bytes[0] / bytes_per_second), 0.0, 0.0",
                SLOT: "(max(compute, layer_bytes[layer] / bytes_per_second) if prefetch else compute + fetch)",
            },
        ],
    ),
    Misconception(
        "first_fetch_forgotten",
        "You let the first layer compute at once. Nothing can hide its fetch, because no layer computes before it.",
        {FIRST: "0.0, 0.0, 0.0"},
        variants=[{FIRST: "(0.0 if prefetch else layer_bytes[0] / bytes_per_second), 0.0, 0.0"}],
    ),
    Misconception(
        "last_layer_fetched_again",
        "You fetch the last layer again for its backward. It computes twice in a row, so it is still on the device.",
        {
            FETCHED: "layer_bytes[following] if place + 1 < len(order) else 0",
            HELD: "layer_bytes[layer] + (fetched if prefetch and following != layer else 0)",
        },
    ),
    Misconception(
        "fetched_once",
        "You fetch weights for forward alone. They were freed after it, so backward needs them over the link again.",
        {FETCHED: "0 if following == layer or place >= layers else layer_bytes[following]"},
    ),
    Misconception(
        "last_backward_left_out",
        "You leave out the backward of the last layer. It needs no fetch, but its time: it computes twice in a row.",
        {ORDER: "[*range(layers), *reversed(range(layers - 1))]"},
    ),
    Misconception(
        "backward_left_out",
        "You stop after forward. Backward walks the layers in reverse, and takes twice as long for each.",
        {ORDER: "[*range(layers)]"},
    ),
    Misconception(
        "backward_as_long_as_forward",
        "You let backward take as long as forward. The contract gives it twice the seconds of each layer.",
        {COMPUTE: "forward_seconds[layer]"},
    ),
    Misconception(
        "backward_in_forward_order",
        "You run backward in the order of forward. It begins at the last layer, which is still there.",
        {ORDER: "[*range(layers), *range(layers)]"},
        same_as=("last_layer_fetched_again",),
    ),
    Misconception(
        "bits_per_second",
        "You take the rate as bits. It is in bytes per second, like the sizes.",
        {FIRST: "8 * layer_bytes[0] / bytes_per_second, 0.0, 0.0", "fetch = fetched /": "fetch = 8 * fetched /"},
    ),
    hard_coded(streamed_models),
    run=_run,
    cases=streamed_models,
    is_near=within(relative=TOLERANCE),
)
