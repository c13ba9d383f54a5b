"""The decisions in one step of Adafactor."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.judging.lessons.adafactor.second_moments import Estimate


@dataclass(frozen=True)
class Recipe:
    """The decisions in one step of Adafactor; as they stand, they are those of transformers.

    Attributes:
        estimate: The decisions in its second moment.
        direction: The gradient over the "root" of the estimate; over the "estimate"; "sgd", the gradient itself; its
            "sign"; the gradient "times_root"; over the root plus epsilon, "root_and_eps"; a "mean" of the updates, with
            0.9, or their "velocity"; or that of "adam", or of "adam_with_eps" of the group.
        beside_root: Added to the root.
        in_root: Added to the estimate, under the root.
        least_root: The root is at least so large.
        clip: The update is divided by its root mean square over the threshold where that is larger than 1, "rms"; or
            it is not clipped, "none"; "always" divided; clipped by its "norm", by "value", by its "largest" number, its
            "mean_square", "mean_size" or "deviation"; by the size of the gradient, "by_gradient", or of all updates
            together, "joint"; divided by the larger of size and threshold, "larger"; only made longer, "lower"; with
            the threshold "multiplied"; or the "gradient" is clipped.
        fixed_threshold: A threshold that is used whatever the option is.
        scale: The learning rate is scaled by the weight's root mean square where it is asked for, "own"; "never";
            "always"; by its "norm", "mean_size", "mean_square" or "deviation"; by the size "of_update" or
            "of_gradient"; without the smallest scale, "no_floor", or with it "added"; with another one, "eps", "tiny"
            or "large"; by the "smaller" of both; "divided" by the scale; with the smallest scale as the smallest rate,
            "on_rate"; for "matrices" alone; as the weight is after the decay, "after"; or "inverse".
        decay: "decoupled", "in_gradient", "in_update", "none", "after", "without_rate", "half", "grows",
            "squared_rate", or "unscaled" with the learning rate as it is before it is scaled.
        rate: Factor of the learning rate.
        is_rate_squared: Whether the learning rate enters the update twice.
        sign: Of the update: 1, or -1.
        clock: First value of the step count.
        stride: How much the step count grows in a step.
        shared_clock: Whether one count serves all tensors: "no", "steps" of the optimizer, or "tensors" updated.
        missing: A tensor without gradient is "skipped", "decayed", or updated with a gradient of "zero".
        silent: A tensor whose gradient is zero is updated as any other, "updated", or "skipped".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        read: Options that are read elsewhere, by name: those of the "first" or the "last" group, or of the "start".
        is_relative: Whether the learning rate is at most one over the root of the step.
        rate_falls: Whether it is multiplied by one over the root of the step.
    """

    estimate: Estimate = field(default_factory=Estimate)
    direction: str = "root"
    beside_root: float = 0.0
    in_root: float = 0.0
    least_root: float = 0.0
    clip: str = "rms"
    fixed_threshold: float | None = None
    scale: str = "own"
    decay: str = "decoupled"
    rate: float = 1.0
    is_rate_squared: bool = False
    sign: float = 1.0
    clock: int = 1
    stride: int = 1
    shared_clock: str = "no"
    missing: str = "skipped"
    silent: str = "updated"
    group: str = "own"
    read: tuple[tuple[str, str], ...] = ()
    is_relative: bool = False
    rate_falls: bool = False


RIGHT = Recipe()
