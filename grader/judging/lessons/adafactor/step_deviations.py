"""Misconceptions about Adafactor's step, each as the decisions that it makes otherwise."""

from __future__ import annotations

from typing import Any

from grader.judging.lessons.adafactor.deviations import Deviation, of_estimate

_OPTIONS = {
    "rate": "lr",
    "scale": "scale_parameter",
    "threshold": "clip_threshold",
    "decay": "weight_decay",
    "eps": "eps",
    "decay_rate": "decay_rate",
}


def _step(code: str, look_at: str, **changes: Any) -> Deviation:
    return Deviation(code, look_at, of_step=changes)


def _elsewhere(name: str, option: str, place: str) -> Deviation:
    """Return the misconception that reads one option of another group, or once for all."""
    if place == "start":
        look_at = f"{option}: a schedule may change it, so read it from the group at each step"
        return _step(f"{name}_kept_from_start", look_at, read=((option, place),))
    return _step(f"{name}_of_{place}_group", f"{option} is an option of each group", read=((option, place),))


STEP = (
    _step(
        "sign_taken",
        "the sign of the gradient tells nothing of its size: divide by the root of the second moment",
        direction="sign",
    ),
    _step("times_root", "the update: divided by the root of V, not multiplied with it", direction="times_root"),
    _step("root_forgotten", "the update: the gradient over the root of the second moment", direction="estimate"),
    _step("sgd_step", "the update: by what is the gradient divided?", direction="sgd", clip="none"),
    Deviation(
        "step_of_the_lesson",
        "the lesson's cell keeps the whole second moment, and has neither scale nor decay: the contract asks for all",
        {"factored": "never"},
        {"scale": "never", "decay": "none"},
    ),
    _step(
        "adam_step",
        "two moments and betas are Adam's: here one second moment is factored",
        direction="adam",
        clip="none",
    ),
    _step(
        "adam_step",
        "two moments and betas are Adam's: here one second moment is factored",
        direction="adam_with_eps",
        clip="none",
    ),
    of_estimate("vectors_factored", "a tensor of one dimension: its second moment is kept whole", factored="vectors"),
    of_estimate(
        "stack_flattened",
        "more than two dimensions: rows and columns are the last two, for each index before them",
        factored="flat",
    ),
    _step(
        "update_not_clipped", "the clipping: is the update divided where its RMS is above the threshold?", clip="none"
    ),
    of_estimate("only_two_dimensions", "a stack of matrices is factored too: .dim() > 1", factored="two"),
    _step("clip_lengthens", "the clipping: at least 1 divides, so a short update stays as it is", clip="lower"),
    _step("mean_square_for_rms", "the clipping: the root of the mean square", clip="mean_square"),
    _step("mean_size_for_rms", "the clipping: the root of the mean square, not the mean size", clip="mean_size"),
    _step("deviation_for_rms", "the clipping: std() subtracts the mean, RMS does not", clip="deviation"),
    _step(
        "size_of_gradient", "the clipping: the RMS of the update, after the division by the root", clip="by_gradient"
    ),
    _step(
        "threshold_is_the_least",
        "the clipping: the larger of 1 and RMS / threshold divides, not the larger of threshold and RMS",
        clip="larger",
    ),
    _step("clipped_together", "the clipping: each tensor by its own RMS, not by that of all updates", clip="joint"),
    _step("scale_of_update", "the scale: the RMS of the weight, not of the update", scale="of_update"),
    _step("scale_of_gradient", "the scale: the RMS of the weight, not of the gradient", scale="of_gradient"),
    _step("mean_size_for_scale", "the scale: the root of the mean square, not the mean size", scale="mean_size"),
    _step("mean_square_for_scale", "the scale: the root of the mean square", scale="mean_square"),
    _step(
        "deviation_for_scale",
        "the scale: std() subtracts the mean, the root of the mean square does not",
        scale="deviation",
    ),
    _step("divided_by_scale", "the scale: the learning rate is multiplied with it", scale="divided"),
    _step("floor_on_rate", "the 1e-3 bounds the RMS of the weight, not the learning rate", scale="on_rate"),
    _step("matrices_scaled_alone", "the scale: tensors of one dimension are scaled too", scale="matrices"),
    _step("rate_twice", "the size of the step: the learning rate enters it once", is_rate_squared=True),
    _step("smaller_for_larger", "the scale: the larger of 1e-3 and the RMS", scale="smaller"),
    _step("smallest_scale_too_small", "the smallest scale is 1e-3", scale="tiny"),
    _step("smallest_scale_too_large", "the smallest scale is 1e-3", scale="large"),
    *(_elsewhere(name, option, place) for name, option in _OPTIONS.items() for place in ("first", "last", "start")),
    _step("decay_with_squared_rate", "the size of the decay: the rate enters it once", decay="squared_rate"),
    _step("decay_in_update", "the decay: it shrinks the weight, and is not clipped with the update", decay="in_update"),
    _step("rate_falls", "the learning rate: it does not fall with the step by itself", rate_falls=True),
    _step("velocity_kept", "a running sum of updates is momentum: it is not asked for", direction="velocity"),
    _step("always_normalised", "the clipping: max(1, ...) leaves an update alone that is short enough", clip="always"),
    _step("norm_for_rms", "the clipping: the root of the mean square, not the norm, which is longer", clip="norm"),
    _step(
        "each_number_clipped", "the clipping: one factor for the whole update, its numbers are not cut", clip="value"
    ),
    _step("clipped_by_largest", "the clipping: the RMS of the update, not its largest number", clip="largest"),
    _step("threshold_multiplied", "the clipping: RMS over threshold, not RMS times threshold", clip="multiplied"),
    _step("gradient_clipped", "what is clipped: the update, after the division by the root", clip="gradient"),
    _step("threshold_not_read", "clip_threshold: 1.0 is a default, and a group may have another", fixed_threshold=1.0),
    _step(
        "epsilon_added_to_root", "where eps stands: in the squares alone, and no second time", direction="root_and_eps"
    ),
    _step("momentum_kept", "a mean of updates costs a number for each number: it is not asked for", direction="mean"),
    _step("scale_left_out", "scale_parameter: a group with True scales its learning rate by the weight", scale="never"),
    _step("always_scaled", "scale_parameter: a group with False takes its learning rate as it is", scale="always"),
    _step("scale_turned", "scale_parameter: True and False are exchanged", scale="inverse"),
    _step("norm_for_scale", "the scale: the root of the mean square of the weight, not its norm", scale="norm"),
    _step("no_smallest_scale", "weights of zero: the scale is at least 1e-3, or they never move", scale="no_floor"),
    _step("smallest_scale_added", "the scale: the larger of 1e-3 and the RMS, not their sum", scale="added"),
    _step("eps_for_smallest_scale", "the smallest scale is 1e-3, and eps is another number", scale="eps"),
    _step("scale_after_decay", "the order: the scale is that of the weight before its decay", scale="after"),
    _step("decay_left_out", "weight_decay: which line of yours reads it?", decay="none"),
    _step(
        "decay_in_gradient", "where the decay enters: it shrinks the weight, and no mean sees it", decay="in_gradient"
    ),
    _step("decay_after_update", "the order: the decay acts on the weight before the update", decay="after"),
    _step("decay_without_rate", "the size of the decay: learning rate times weight_decay", decay="without_rate"),
    _step("decay_with_unscaled_rate", "the decay takes the learning rate as it is scaled", decay="unscaled"),
    _step("decay_halved", "the size of the decay: a factor of one half", decay="half"),
    _step("decay_grows", "the sign of the decay: are weights pulled to zero, or away from it?", decay="grows"),
    _step("decay_without_gradient", "a tensor without gradient is skipped, its decay too", missing="decayed"),
    _step("missing_gradient_zero", "a tensor whose .grad is None is skipped: nothing of it moves", missing="zero"),
    _step(
        "zero_gradient_skipped",
        "a gradient of zeros is a gradient: its step counts and its weight decays",
        silent="skipped",
    ),
    _step(
        "one_count_for_all",
        "a tensor whose gradients begin later: whose steps does its decay count?",
        shared_clock="steps",
    ),
    _step("count_moved_by_each_tensor", "the step count: how often is it raised in one step?", shared_clock="tensors"),
    _step("step_starts_at_two", "the step count: the first step is step 1", clock=2),
    _step("step_counted_twice", "the step count: by how much does it grow in one step?", stride=2),
    _step("options_of_first_group", "whose lr and thresholds a tensor of another group has", group="first"),
    _step("options_of_last_group", "which group is read, and when: the last one walked through?", group="last"),
    _step(
        "options_fixed",
        "the options of a group: a schedule changes them, read each of them at each step",
        read=tuple((option, "start") for option in _OPTIONS.values()),
    ),
    _step("step_relative", "the learning rate: one over the root of the step is not asked for", is_relative=True),
    _step("sign_turned", "the sign of the step: the loss falls against the gradient", sign=-1.0),
)

_EPSILON_OF = "by what the gradient is divided: the root of V, without a second epsilon"
# Each is tried alone: a small number that is none of the options, where nothing else is wrong.
SECOND_EPSILONS = (
    *(_step("second_epsilon", _EPSILON_OF, beside_root=value) for value in (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-10)),
    *(
        _step("second_epsilon_in_root", _EPSILON_OF + " under the root", in_root=value)
        for value in (1e-8, 1e-10, 1e-12, 1e-6, 1e-16)
    ),
    *(
        _step("root_at_least", _EPSILON_OF + ": the least root is PyTorch's", least_root=value)
        for value in (2**-23, 1.2e-7, 1e-7, 1e-8, 1e-6)
    ),
)
