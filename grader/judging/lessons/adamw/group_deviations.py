"""Misconceptions about the decay, the groups and the missing gradients of AdamW, each as a recipe."""

from __future__ import annotations

from grader.judging.lessons.adamw.deviations import Deviation

DECAY = (
    Deviation(
        "decay_in_gradient",
        {"decay": "in_gradient"},
        "where the decay enters: added to the gradient it passes through both moments, and is no longer decoupled",
    ),
    Deviation(
        "decay_left_out",
        {"decay": "none"},
        "weight_decay: which line reads it, and does that line change the weight? mul_() does, mul() returns another",
    ),
    Deviation(
        "update_not_in_place",
        {"rule": "still"},
        "the weight decays and then stays: `weight = ...` gives a name to a new tensor, -= changes the weight itself",
        is_paired=False,
    ),
    Deviation(
        "decay_with_squared_rate",
        {"decay": "rate_squared"},
        "the size of the decay: the learning rate enters it once, and not twice",
    ),
    Deviation("decay_twice", {"decay": "twice"}, "how often a step decays the weight: once"),
    Deviation(
        "decay_as_factor",
        {"decay": "as_factor"},
        "the decay takes away a share of the weight: the rest is 1 - lr * weight_decay of it",
    ),
    Deviation(
        "decay_of_matrices_only",
        {"decay": "matrices"},
        "which tensors decay: the option of their group says it, not their number of dimensions",
    ),
    Deviation("decay_not_read", {"fixed_decay": 0.01}, "weight_decay: 0.01 is a default, and a group has its own"),
    Deviation(
        "learning_rate_not_read", {"fixed_rate": 1e-3}, "the learning rate: 0.001 is a default, and a group has its own"
    ),
    Deviation(
        "decay_after_update",
        {"decay": "after"},
        "the order: the decay acts on the weight as it was before the update",
    ),
    Deviation(
        "decay_without_rate",
        {"decay": "without_rate"},
        "the size of the decay: a step takes away learning rate times weight_decay of the weight",
    ),
    Deviation("decay_halved", {"decay": "half"}, "the size of the decay: a factor of one half"),
    Deviation("decay_grows", {"decay": "grows"}, "the sign of the decay: are weights pulled to zero, or away from it?"),
    Deviation(
        "decay_squared", {"decay": "in_update"}, "the size of the decay: weight_decay enters it once, and not twice"
    ),
    Deviation("decay_without_gradient", {"missing": "decayed"}, "a tensor without gradient is skipped, its decay too"),
    Deviation(
        "missing_gradient_zero", {"missing": "zero"}, "a tensor without gradient is skipped: nothing of it moves"
    ),
    Deviation(
        "tensors_behind_left_out",
        {"missing": "ends_group"},
        "a tensor without gradient is skipped: `break` leaves out those behind it too, `continue` goes on",
        is_paired=False,
    ),
    Deviation(
        "step_ended_early",
        {"missing": "ends_step"},
        "a tensor without gradient is skipped: `return` ends the step for all tensors behind it, `continue` goes on",
        is_paired=False,
    ),
    Deviation(
        "state_forgotten",
        {"missing": "forgotten"},
        "a tensor that has no gradient at one step: its moments and its count wait for the next one",
        is_paired=False,
    ),
    Deviation(
        "zero_gradient_skipped",
        {"is_zero_skipped": True},
        "a gradient of zeros is a gradient: its moments fall, its weight moves and decays. None alone is skipped",
        is_paired=False,
    ),
    Deviation(
        "first_group_only",
        {"updated": "first_group"},
        "the loop over the groups: only the first of them is updated",
        is_paired=False,
    ),
    Deviation(
        "first_tensor_only",
        {"updated": "first_of_group"},
        "the loop over the tensors: it ends after the first of each group",
        is_paired=False,
    ),
    Deviation(
        "one_count_for_all",
        {"shared_clock": "steps"},
        "a tensor whose gradients begin later: whose steps does its bias correction count?",
    ),
    Deviation(
        "count_moved_by_each_tensor",
        {"shared_clock": "tensors"},
        "the step count: how often is it raised in one step, and whose is it?",
    ),
    Deviation("options_of_first_group", {"group": "first"}, "whose options a tensor of another group has"),
    Deviation(
        "options_of_first_group",
        {"rate_group": "first", "decay_group": "first", "eps_group": "first"},
        "whose lr, eps and weight_decay a tensor of another group has",
        is_paired=False,
    ),
    Deviation(
        "options_of_last_group", {"group": "last"}, "which group is read, and when: the last one walked through?"
    ),
    Deviation("decay_of_first_group", {"decay_group": "first"}, "weight_decay is an option of each group"),
    Deviation("decay_of_last_group", {"decay_group": "last"}, "weight_decay is an option of each group"),
    Deviation("rate_of_first_group", {"rate_group": "first"}, "lr is an option of each group: whose do you read?"),
    Deviation(
        "betas_of_first_group", {"betas_group": "first"}, "betas are an option of each group: whose do you read?"
    ),
    Deviation("eps_of_first_group", {"eps_group": "first"}, "eps is an option of each group: whose do you read?"),
    Deviation("learning_rate_fixed", {"early": ("lr",)}, "the learning rate: a schedule changes it between two steps"),
    Deviation("decay_fixed", {"early": ("weight_decay",)}, "weight_decay: a schedule changes it between two steps"),
    Deviation("betas_fixed", {"early": ("betas",)}, "the betas: a schedule changes them between two steps"),
    Deviation("eps_fixed", {"early": ("eps",)}, "eps: a schedule may change it between two steps"),
    Deviation(
        "options_fixed",
        {"early": ("lr", "weight_decay", "betas", "eps")},
        "the options: a schedule changes them between two steps, so each step reads them again",
    ),
)
