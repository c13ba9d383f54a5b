"""What learners leave out of the two moments of a chain's update, or count once too often."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.judging.lessons.where_memory_goes.step_sizes import Counts


@dataclass(frozen=True)
class Change:
    """Sizes that are left out of a sum or counted once too often.

    Attributes:
        code: The misconception.
        says: What is missing or too much, in words.
        look_at: What the learner is told to look at.
        backward: Change of the counts when backward begins.
        update: Change of the counts during the update.
    """

    code: str
    says: str
    look_at: str
    backward: Counts = field(default_factory=dict)
    update: Counts = field(default_factory=dict)


def _both(code: str, says: str, look_at: str, **counts: int) -> Change:
    return Change(code, says, look_at, counts, counts)


def _backward(code: str, says: str, look_at: str, **counts: int) -> Change:
    return Change(code, says, look_at, backward=counts)


def _update(code: str, says: str, look_at: str, **counts: int) -> Change:
    return Change(code, says, look_at, update=counts)


_STATE = "what the optimizer keeps from one update to the next, from the second update on"
_COUNTERS = "the step counters of AdamW: how many tensors does one block have?"
_COPIES = "parameters and two moments are three tensors for each parameter: which of them are in both of your sums?"
_BUFFERS_OF_BACKWARD = "the list of pieces: the buffers when backward begins"
_BUFFERS_OF_UPDATE = "the list of pieces: the buffers in the update"

_BACKWARD_BUFFERS = {"hidden_rows": -1, "weight": -1, "width": -1}
_UPDATE_BUFFERS = {"weight": -2, "hidden": -1}

CHANGES: tuple[Change, ...] = (
    _both("state_forgotten", "missing: the optimizer state", _STATE, model=-2, counters=-1),
    _both("moments_forgotten", "missing: twice the parameters, as many as both moments", _STATE, model=-2),
    _both(
        "one_moment_only",
        "missing: one moment and the step counters",
        "AdamW keeps more than SGD with momentum does: what?",
        model=-1,
        counters=-1,
    ),
    _both("one_copy_missing", "missing: as many numbers as the parameters", _COPIES, model=-1),
    _both("one_copy_too_many", "too much: as many numbers as the parameters", _COPIES, model=1),
    _both("step_counters_forgotten", "missing: the step counters", _COUNTERS, counters=-1),
    _both("step_counters_doubled", "too much: the step counters", _COUNTERS, counters=1),
    _both("one_counter_for_each_block", "missing: three of four step counters", _COUNTERS, counters=-1, blocks=1),
    _both("two_counters_for_each_block", "missing: two of four step counters", _COUNTERS, counters=-1, blocks=2),
    _both("one_counter_in_all", "missing: all step counters but one", _COUNTERS, counters=-1, number=1),
    _both("four_counters_in_all", "missing: all step counters but four", _COUNTERS, counters=-1, number=4),
    _both("input_forgotten", "missing: the input", "the tensor that the step reads: who holds it?", input=-1),
    _both("input_counted_twice", "too much: the input", "the input: is it among the activations too?", input=1),
    _backward(
        "gradients_held_in_backward",
        "too much: the gradients, when backward begins",
        "the first line of the step: which gradients are alive when backward begins?",
        model=1,
    ),
    _backward(
        "first_iteration",
        "missing: the optimizer state, when backward begins",
        "the second update: which state did the first one leave behind?",
        model=-2,
        counters=-1,
    ),
    _backward("activations_forgotten", "missing: the activations", "what forward keeps for backward", activations=-1),
    _backward(
        "activations_counted_twice",
        "too much: the activations, once more",
        "each activation is stored once, however many operations keep it",
        activations=1,
    ),
    _backward(
        "output_counted_beside_its_gradient",
        "too much: one tensor [batch, width], when backward begins",
        "the output of the last block: is it still alive when its gradient is?",
        input=1,
    ),
    _backward(
        "one_row_tensor_missing",
        "missing: one tensor [batch, width], when backward begins",
        "every block's output, the last one's too, and the input: are all of them in your sum?",
        input=-1,
    ),
    _update(
        "gradients_forgotten",
        "missing: the gradients, in the update",
        "what optimizer.step() reads, beside parameters and state",
        model=-1,
    ),
    _update("input_forgotten_in_update", "missing: the input, in the update", "who holds the input?", input=-1),
    _update(
        "gradients_counted_twice",
        "too much: as many numbers as the parameters, in the update",
        "the update: parameters, two moments, gradients, and what else has their size?",
        model=1,
    ),
    _update(
        "activations_held_in_update",
        "too much: the activations, in the update",
        "the moment after backward: who still needs an activation?",
        activations=1,
    ),
    _backward(
        "backward_buffers_forgotten",
        "missing: the buffers, when backward begins",
        _BUFFERS_OF_BACKWARD,
        **_BACKWARD_BUFFERS,
        number=-2,
    ),
    _backward(
        "last_layer_gradients_forgotten",
        "missing: the gradients of the last linear layer",
        _BUFFERS_OF_BACKWARD,
        **_BACKWARD_BUFFERS,
    ),
    _backward(
        "input_gradient_forgotten", "missing: the gradient [batch, hidden]", _BUFFERS_OF_BACKWARD, hidden_rows=-1
    ),
    _backward("weight_gradient_forgotten", "missing: the gradient of one weight", _BUFFERS_OF_BACKWARD, weight=-1),
    _backward("bias_gradient_forgotten", "missing: the gradient of one bias", _BUFFERS_OF_BACKWARD, width=-1),
    _backward("loss_forgotten", "missing: the loss and its gradient", _BUFFERS_OF_BACKWARD, number=-2),
    _backward("one_number_missing", "missing: the loss or its gradient", _BUFFERS_OF_BACKWARD, number=-1),
    _update("update_buffers_forgotten", "missing: the buffers of the update", _BUFFERS_OF_UPDATE, **_UPDATE_BUFFERS),
    _update("weight_buffers_forgotten", "missing: two buffers as large as a weight", _BUFFERS_OF_UPDATE, weight=-2),
    _update("one_update_buffer", "missing: one buffer as large as a weight", _BUFFERS_OF_UPDATE, weight=-1),
    _update("three_update_buffers", "too much: one buffer as large as a weight", _BUFFERS_OF_UPDATE, weight=1),
    _update(
        "buffers_for_a_whole_block",
        "too much: update buffers as large as a block",
        "foreach=False updates one tensor after the other: how large is the largest?",
        weight=2,
        hidden=1,
        width=2,
    ),
    _update("bias_buffer_forgotten", "missing: one buffer of `hidden` numbers", _BUFFERS_OF_UPDATE, hidden=-1),
    _update(
        "bias_buffer_of_the_other_layer",
        "one buffer of `width` numbers in place of `hidden`",
        _BUFFERS_OF_UPDATE,
        hidden=-1,
        width=1,
    ),
    _update(
        "loss_held_in_update",
        "too much: the loss and its gradient, in the update",
        "when backward() has returned: who still holds the loss?",
        number=2,
    ),
    _update(
        "buffers_for_all_parameters",
        "too much: update buffers as large as all parameters",
        "foreach=False updates one tensor after the other: how large is the largest?",
        model=2,
        weight=-2,
        hidden=-1,
    ),
    Change(
        "all_buffers_forgotten",
        "missing: the buffers of both moments",
        "the list of pieces: the buffers, of both moments",
        {**_BACKWARD_BUFFERS, "number": -2},
        _UPDATE_BUFFERS,
    ),
    Change(
        "buffers_of_the_other_moment",
        "the buffers of each moment stand in the sum of the other",
        "the buffers: which of them belong to backward, which to the update?",
        {"hidden_rows": -1, "weight": 1, "width": -1, "number": -2, "hidden": 1},
        {"hidden_rows": 1, "weight": -1, "width": 1, "number": 2, "hidden": -1},
    ),
    Change(
        "buffers_of_both_moments",
        "too much: the buffers of the other moment",
        "the buffers: which of them belong to backward, which to the update?",
        {"weight": 2, "hidden": 1},
        {"hidden_rows": 1, "weight": 1, "width": 1, "number": 2},
    ),
)
