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
        look_at: The diagnosis, and where to look.
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


_BACKWARD_BUFFERS = {"hidden_rows": -1, "weight": -1, "width": -1}
_UPDATE_BUFFERS = {"weight": -2, "hidden": -1}

CHANGES: tuple[Change, ...] = (
    _both(
        "state_forgotten",
        "missing: the optimizer state",
        "You leave out the optimizer state. It is there from the second update on.",
        model=-2,
        counters=-1,
    ),
    _both(
        "moments_forgotten",
        "missing: twice the parameters, as many as both moments",
        "Both of your sums lack twice the parameters, as many numbers as AdamW's two moments. Look at "
        "what the optimizer keeps from one update to the next.",
        model=-2,
    ),
    _both(
        "one_moment_only",
        "missing: one moment and the step counters",
        "You count one moment and no step counters, as for SGD with momentum. AdamW keeps two moments, "
        "and a step counter for each tensor.",
        model=-1,
        counters=-1,
    ),
    _both(
        "one_copy_missing",
        "missing: as many numbers as the parameters",
        "Both of your sums lack as many numbers as the parameters. Count three for each parameter: "
        "itself and two moments.",
        model=-1,
    ),
    _both(
        "one_copy_too_many",
        "too much: as many numbers as the parameters",
        "Both of your sums have as many numbers as the parameters too much. Only three for each "
        "parameter are in both: itself and two moments.",
        model=1,
    ),
    _both(
        "step_counters_forgotten",
        "missing: the step counters",
        "You leave out AdamW's step counters. Each of the four tensors of a block has one.",
        counters=-1,
    ),
    _both(
        "step_counters_doubled",
        "too much: the step counters",
        "You count AdamW's step counters twice. Each tensor has one.",
        counters=1,
    ),
    _both(
        "one_counter_for_each_block",
        "missing: three of four step counters",
        "You count one step counter for each block. A block has four tensors, each with one.",
        counters=-1,
        blocks=1,
    ),
    _both(
        "two_counters_for_each_block",
        "missing: two of four step counters",
        "You count two step counters for each block. A block has two weights and two biases, each with one.",
        counters=-1,
        blocks=2,
    ),
    _both(
        "one_counter_in_all",
        "missing: all step counters but one",
        "You count a single step counter. Each tensor of the chain has one.",
        counters=-1,
        number=1,
    ),
    _both(
        "four_counters_in_all",
        "missing: all step counters but four",
        "You count four step counters in all. Multiply them by `blocks`.",
        counters=-1,
        number=4,
    ),
    _both(
        "input_forgotten",
        "missing: the input",
        "You leave out the input, which is held during the whole step.",
        input=-1,
    ),
    _both(
        "input_counted_twice",
        "too much: the input",
        "You count the input twice. It is not among the activations of the blocks.",
        input=1,
    ),
    _backward(
        "gradients_held_in_backward",
        "too much: the gradients, when backward begins",
        "You count the gradients when backward begins, but zero_grad() has freed those of the step "
        "before. Look at the first line of `step`.",
        model=1,
    ),
    _backward(
        "first_iteration",
        "missing: the optimizer state, when backward begins",
        "You leave out the optimizer state when backward begins, as in the first update. From the second "
        "one on it is there.",
        model=-2,
        counters=-1,
    ),
    _backward(
        "activations_forgotten",
        "missing: the activations",
        "You leave out the activations, which forward keeps for backward.",
        activations=-1,
    ),
    _backward(
        "activations_counted_twice",
        "too much: the activations, once more",
        "You count the activations twice. Each is stored once, however many operations keep it.",
        activations=1,
    ),
    _backward(
        "output_counted_with_its_gradient",
        "too much: one tensor [batch, width], when backward begins",
        "You count one tensor [batch, width] too many when backward begins. The gradient of the last "
        "block's output has just taken the place of that output.",
        input=1,
    ),
    _backward(
        "one_row_tensor_missing",
        "missing: one tensor [batch, width], when backward begins",
        "You count one tensor [batch, width] too few when backward begins. Count the input, and the "
        "output of every block, the last one too.",
        input=-1,
    ),
    _update(
        "gradients_forgotten",
        "missing: the gradients, in the update",
        "You leave out the gradients in the update, where optimizer.step() reads them.",
        model=-1,
    ),
    _update(
        "input_forgotten_in_update",
        "missing: the input, in the update",
        "You leave out the input in the update, where it is still held.",
        input=-1,
    ),
    _update(
        "gradients_counted_twice",
        "too much: as many numbers as the parameters, in the update",
        "Your sum of the update has as many numbers as the parameters too much. Count four for each "
        "parameter: itself, two moments and the gradient.",
        model=1,
    ),
    _update(
        "activations_held_in_update",
        "too much: the activations, in the update",
        "You count the activations in the update, but backward has freed them.",
        activations=1,
    ),
    _backward(
        "backward_buffers_forgotten",
        "missing: the buffers, when backward begins",
        "You leave out the buffers when backward begins: the loss, its gradient, and the gradients of the last layer.",
        **_BACKWARD_BUFFERS,
        number=-2,
    ),
    _backward(
        "last_layer_gradients_forgotten",
        "missing: the gradients of the last linear layer",
        "You leave out the gradients of the last layer's input, weight and bias when backward begins.",
        **_BACKWARD_BUFFERS,
    ),
    _backward(
        "input_gradient_forgotten",
        "missing: the gradient [batch, hidden]",
        "You leave out the gradient of the last layer's input, `batch * h` numbers.",
        hidden_rows=-1,
    ),
    _backward(
        "weight_gradient_forgotten",
        "missing: the gradient of one weight",
        "You leave out the gradient of the last layer's weight, `w * h` numbers.",
        weight=-1,
    ),
    _backward(
        "bias_gradient_forgotten",
        "missing: the gradient of one bias",
        "You leave out the gradient of the last layer's bias, `w` numbers.",
        width=-1,
    ),
    _backward(
        "loss_forgotten",
        "missing: the loss and its gradient",
        "You leave out the loss and its gradient, one number each.",
        number=-2,
    ),
    _backward(
        "one_number_missing",
        "missing: the loss or its gradient",
        "You count one number too few when backward begins. Count the loss, and its gradient.",
        number=-1,
    ),
    _update(
        "update_buffers_forgotten",
        "missing: the buffers of the update",
        "You leave out the buffers in the update: two as large as a weight, and one of `h` numbers.",
        **_UPDATE_BUFFERS,
    ),
    _update(
        "weight_buffers_forgotten",
        "missing: two buffers as large as a weight",
        "You leave out the two buffers of the update that are as large as a weight.",
        weight=-2,
    ),
    _update(
        "one_update_buffer",
        "missing: one buffer as large as a weight",
        "You count one buffer as large as a weight in the update. There are two.",
        weight=-1,
    ),
    _update(
        "three_update_buffers",
        "too much: one buffer as large as a weight",
        "You count three buffers as large as a weight in the update. There are two.",
        weight=1,
    ),
    _update(
        "buffers_for_a_whole_block",
        "too much: update buffers as large as a block",
        "You count update buffers for a whole block. With foreach=False, the optimizer updates one tensor at a time.",
        weight=2,
        hidden=1,
        width=2,
    ),
    _update(
        "bias_buffer_forgotten",
        "missing: one buffer of `hidden` numbers",
        "You leave out the leftover buffer of `h` numbers in the update.",
        hidden=-1,
    ),
    _update(
        "bias_buffer_of_the_other_layer",
        "one buffer of `width` numbers in place of `hidden`",
        "You count `w` numbers for the leftover buffer in the update. It is as large as the bias before "
        "the weight, `h` numbers.",
        hidden=-1,
        width=1,
    ),
    _update(
        "loss_held_in_update",
        "too much: the loss and its gradient, in the update",
        "You count the loss and its gradient in the update, but both are freed when backward() returns.",
        number=2,
    ),
    _update(
        "buffers_for_all_parameters",
        "too much: update buffers as large as all parameters",
        "You count update buffers for all parameters at once, as foreach=True has them. With "
        "foreach=False there are those of one tensor only.",
        model=2,
        weight=-2,
        hidden=-1,
    ),
    Change(
        "all_buffers_forgotten",
        "missing: the buffers of both moments",
        "You leave out the buffers of both moments. Look at the last two lines of the list of pieces.",
        {**_BACKWARD_BUFFERS, "number": -2},
        _UPDATE_BUFFERS,
    ),
    Change(
        "buffers_of_the_other_moment",
        "the buffers of each moment are in the sum of the other",
        "You count the buffers of each moment in the sum of the other one. Exchange them.",
        {"hidden_rows": -1, "weight": 1, "width": -1, "number": -2, "hidden": 1},
        {"hidden_rows": 1, "weight": -1, "width": 1, "number": 2, "hidden": -1},
    ),
    Change(
        "buffers_of_both_moments",
        "too much: the buffers of the other moment",
        "You count the buffers of both moments in each sum. Those of backward are freed before the update begins.",
        {"weight": 2, "hidden": 1},
        {"hidden_rows": 1, "weight": 1, "width": 1, "number": 2},
    ),
)
