"""AdamW's step as it is right, and what students believe of it: edits of the moments and of the decay."""

from __future__ import annotations

import torch

from grader.judging.misconceptions import Edits, Misconception
from grader.judging.references import Answer


def adamw_step(optimizer: torch.optim.Optimizer) -> None:
    """Take one step of AdamW; without decay it is Adam's."""
    for group in optimizer.param_groups:
        lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        for weight in group["params"]:
            gradient = weight.grad
            if gradient is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state.update(step=0, mean=torch.zeros_like(weight), square=torch.zeros_like(weight))
            state["step"] += 1
            state["mean"] = beta1 * state["mean"] + (1 - beta1) * gradient
            state["square"] = beta2 * state["square"] + (1 - beta2) * gradient**2
            share1, share2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
            mean, square = state["mean"] / share1, state["square"] / share2
            weight.mul_(1 - lr * decay)
            weight.sub_(lr * mean / (square.sqrt() + eps))


# The parts of the reference that misconceptions edit.
LR, EPS, WEIGHT_DECAY, BETAS = 'group["lr"]', 'group["eps"]', 'group["weight_decay"]', 'group["betas"]'
WEIGHTS = 'for weight in group["params"]:'
CONTINUE = "continue"
STATE = "state = optimizer.state[weight]"
NO_STATE = "if not state:"
NO_STEPS = "step=0"
COUNTED = 'state["step"] += 1'
KEPT_MEAN, KEPT_SQUARE = 'beta1 * state["mean"]', 'beta2 * state["square"]'
NEW_MEAN, NEW_SQUARE = "(1 - beta1) * gradient\n", "(1 - beta2) * gradient**2"
SHARES = 'share1, share2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]'
CORRECTED = 'mean, square = state["mean"] / share1, state["square"] / share2'
DECAYED = "weight.mul_(1 - lr * decay)"
MOVED = "weight.sub_(lr * mean / (square.sqrt() + eps))"

SWAPPED_MEAN = {KEPT_MEAN: '(1 - beta1) * state["mean"]', NEW_MEAN: "beta1 * gradient\n"}
SWAPPED_SQUARE = {KEPT_SQUARE: '(1 - beta2) * state["square"]', NEW_SQUARE: "beta2 * gradient**2"}
RMSPROP = 'mean, square = gradient, state["square"]'
OPTIONS = {"rate": LR, "decay": WEIGHT_DECAY, "betas": BETAS, "eps": EPS}


def _of_first_group(*options: str) -> Edits:
    return {option: option.replace("group", "optimizer.param_groups[0]") for option in options}


def _scaled(factor: str) -> Edits:
    return {STATE: f"{STATE}; gradient = {factor} * gradient"}


MOMENTS: tuple[Misconception[Answer], ...] = (
    Misconception(
        "bias_not_corrected",
        "You use both moments uncorrected. They start at zero, so divide each by the share 1 - beta**t that it has "
        "seen.",
        {CORRECTED: 'mean, square = state["mean"], state["square"]'},
    ),
    Misconception(
        "one_moment_not_corrected",
        "You correct one moment only. Both start at zero, so divide each by its own share, 1 - beta**t.",
        {CORRECTED: 'mean, square = state["mean"] / share1, state["square"]'},
        variants=[{CORRECTED: 'mean, square = state["mean"], state["square"] / share2'}],
    ),
    Misconception(
        "correction_without_power",
        "You divide by 1 - beta at every step, which is right at step 1 only. Use 1 - beta**t, with the step count t.",
        {SHARES: "share1, share2 = 1 - beta1, 1 - beta2"},
    ),
    Misconception(
        "corrected_moments_kept",
        "You store a corrected moment, so it is corrected again at the next step. Divide into a new name, with / and "
        "not with /= or div_().",
        {CORRECTED: f'{CORRECTED}; state["mean"], state["square"] = mean, square'},
        variants=[
            {CORRECTED: f'{CORRECTED}; state["mean"] = mean'},
            {CORRECTED: f'{CORRECTED}; state["square"] = square'},
        ],
    ),
    Misconception(
        "moments_not_kept",
        "You let both moments start from zero at every step. Look for the line that stores them, or that resets the "
        "state.",
        {KEPT_MEAN: "0", KEPT_SQUARE: "0"},
        variants=[{NO_STATE: "if True:"}],
    ),
    Misconception(
        "root_kept",
        "You keep the root of the second moment in place of the moment: sqrt_() writes into the state. sqrt() returns "
        "a new tensor.",
        {CORRECTED: f'{CORRECTED}; state["square"] = state["square"].sqrt()'},
    ),
    Misconception(
        "moments_updated_late",
        "You move the weight before both moments take in the new gradient. Update the moments first.",
        {
            COUNTED: f'{COUNTED}; old = state["mean"], state["square"]',
            CORRECTED: "mean, square = old[0] / share1, old[1] / share2",
        },
    ),
    Misconception(
        "another_share",
        "You correct the moments by another number than their share. Divide each by 1 - beta**t, with its own beta, "
        "where ** is a power.",
        {SHARES: 'share1, share2 = 1 - beta1 * state["step"], 1 - beta2 * state["step"]'},
        variants=[
            {SHARES: 'share1, share2 = beta1 ** state["step"], beta2 ** state["step"]'},
            {SHARES: 'share2, share1 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]'},
            {CORRECTED: 'mean, square = state["mean"] * share1, state["square"] * share2'},
        ],
    ),
    Misconception(
        "root_corrected",
        "You take the root of the second moment first and correct it then. Correct the moment, and take its root "
        "afterwards.",
        {MOVED: 'weight.sub_(lr * mean / (state["square"].sqrt() / share2 + eps))'},
    ),
    Misconception(
        "betas_swapped",
        "You use the first beta for the second moment, and the second for the first. `betas` holds beta1, then beta2.",
        {"beta1, beta2 = group": "beta2, beta1 = group"},
    ),
    Misconception(
        "beta_on_the_new_number",
        "You weigh the new number with beta. In a moment, beta weighs the old mean and 1 - beta the new number.",
        SWAPPED_MEAN | SWAPPED_SQUARE,
        variants=[SWAPPED_MEAN, SWAPPED_SQUARE],
    ),
    Misconception(
        "moment_summed",
        "You add a new number to a moment in full, as momentum does. A mean takes in a share of it: 1 - beta.",
        {NEW_MEAN: "gradient\n"},
        variants=[{NEW_SQUARE: "gradient**2"}, {NEW_MEAN: "gradient\n", NEW_SQUARE: "gradient**2"}],
    ),
    Misconception(
        "rmsprop_step",
        "You divide the gradient, as RMSProp does. Adam divides the mean of the gradients, and corrects both means.",
        {CORRECTED: RMSPROP},
        variants=[
            {CORRECTED: f"{RMSPROP} / share2"},
            {CORRECTED: RMSPROP, BETAS: "(0.0, 0.99)"},
            {CORRECTED: RMSPROP, BETAS: "(0.0, 0.99)", WEIGHT_DECAY: "0.0"},
        ],
    ),
    Misconception(
        "gradient_not_squared",
        "You average something other than the squared gradient in the second moment. Look at what it takes in.",
        {NEW_SQUARE: "(1 - beta2) * gradient"},
        variants=[{NEW_SQUARE: "(1 - beta2) * gradient.abs()"}, {NEW_SQUARE: '(1 - beta2) * state["mean"] ** 2'}],
    ),
    Misconception(
        "one_square_for_all",
        "You average the squares over the whole tensor. Each number has a second moment of its own.",
        {NEW_SQUARE: "(1 - beta2) * gradient.square().mean()"},
    ),
    Misconception(
        "root_forgotten",
        "You divide by the second moment itself. Divide by its square root.",
        {MOVED: MOVED.replace(".sqrt()", "")},
    ),
    Misconception(
        "epsilon_in_root",
        "You add epsilon before the root is taken. Add it to the root.",
        {MOVED: MOVED.replace("square.sqrt() + eps", "(square + eps).sqrt()")},
    ),
    Misconception(
        "epsilon_before_correction",
        "You add epsilon to the root of the uncorrected second moment, so the correction scales epsilon as well. "
        "Correct the moment first.",
        {MOVED: 'weight.sub_(lr * mean * share2**0.5 / (state["square"].sqrt() + eps))'},
    ),
    Misconception(
        "epsilon_left_out",
        "You leave epsilon out, so a gradient that is always zero gives 0 / 0. Add epsilon to the root.",
        {MOVED: MOVED.replace(" + eps", "")},
    ),
    Misconception(
        "step_miscounted",
        "You use another step count than 1, 2, 3, ... in the corrections. Raise it once at each step, before it is "
        "used.",
        {NO_STEPS: "step=-1"},
        variants=[{NO_STEPS: "step=1"}, {COUNTED: 'state["step"] += 2'}],
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient, which the contract does not ask for. Use it as it is.",
        {STATE: f"{STATE}; gradient = gradient.clamp(-1, 1)"},
        variants=[{STATE: f"{STATE}; gradient = gradient / gradient.norm().clamp(min=1)"}],
    ),
    Misconception(
        "sgd_step",
        "You do not divide the step by the root of the second moment, as SGD and momentum do not. Look at your last "
        "line.",
        {MOVED: "weight.sub_(lr * gradient)"},
        variants=[
            {MOVED: "weight.sub_(lr * gradient)", WEIGHT_DECAY: "0.0"},
            {MOVED: 'weight.sub_(lr * state["mean"])'},
            {MOVED: "weight.sub_(lr * mean)"},
        ],
    ),
    Misconception(
        "betas_not_read",
        "You use betas of 0.9 and 0.999, which are the defaults. Read the betas that you receive.",
        {BETAS: "(0.9, 0.999)"},
    ),
    Misconception(
        "eps_not_read",
        "You use an epsilon of 1e-8, or a gradient so large that epsilon no longer counts. Use the epsilon that you "
        "receive, and the gradient as it is.",
        {EPS: "1e-8"},
    ),
    Misconception(
        "gradient_scaled",
        "You multiply the gradient by a constant. Adam divides it out again, except for epsilon. Use the gradient as "
        "it is.",
        _scaled("4"),
        variants=[_scaled("0.25"), _scaled("2"), _scaled("0.5")],
    ),
    Misconception(
        "learning_rate_squared",
        "You multiply by the learning rate twice: in the moment, and again in the step. Multiply the step only.",
        {MOVED: MOVED.replace("lr * ", "lr * lr * ")},
    ),
    Misconception(
        "sign_turned",
        "You add the step to the weight, so the loss rises. Subtract it.",
        {MOVED: MOVED.replace("sub_", "add_")},
    ),
)

DECAY: tuple[Misconception[Answer], ...] = (
    Misconception(
        "decay_in_gradient",
        "You add the decay to the gradient, so it passes through both moments. In AdamW the decay is decoupled: shrink "
        "the weight itself.",
        {STATE: f"{STATE}; gradient = gradient + decay * weight", DECAYED: "pass"},
    ),
    Misconception(
        "decay_left_out",
        "You never decay the weights. Look at which line reads weight_decay, and whether it changes the weight: mul_() "
        "does, mul() returns another tensor.",
        {DECAYED: "pass"},
    ),
    Misconception(
        "update_not_in_place",
        "You decay the weights, and never move them by the moments. `weight = ...` only gives a name to a new tensor: "
        "use -= or sub_().",
        {MOVED: "pass"},
    ),
    Misconception(
        "another_amount_of_decay",
        "You decay by another amount than lr * weight_decay of the weight. Look at the sign, and for a factor too "
        "many.",
        {DECAYED: "weight.mul_(1 - lr * lr * decay)"},
        variants=[
            {DECAYED: "weight.mul_((1 - lr * decay) ** 2)"},
            {DECAYED: "weight.mul_(1 - lr * decay / 2)"},
            {DECAYED: "weight.mul_(1 + lr * decay)"},
        ],
    ),
    Misconception(
        "decay_of_matrices_only",
        "You decay matrices only. The weight_decay of its group decides whether a tensor decays, not its number of "
        "dimensions.",
        {DECAYED: "weight.mul_(1 - lr * decay * (weight.dim() > 1))"},
    ),
    Misconception(
        "decay_after_update",
        "You decay the weight after its update, so the update decays, too. Decay first.",
        {DECAYED: "pass", MOVED: f"{MOVED}; {DECAYED}"},
    ),
    Misconception(
        "decay_without_rate",
        "You take weight_decay of the weight away at each step. The decay is lr * weight_decay of it.",
        {DECAYED: "weight.mul_(1 - decay)"},
    ),
    Misconception(
        "decay_without_gradient",
        "You decay a tensor whose gradient is None. Skip it before the decay.",
        {CONTINUE: f"{DECAYED}; continue"},
    ),
    Misconception(
        "missing_gradient_zero",
        "You update a tensor without a gradient as if its gradient were zero. Skip it: its weight and its moments "
        "stay.",
        {CONTINUE: "gradient = torch.zeros_like(weight)"},
    ),
    Misconception(
        "tensors_behind_left_out",
        "You end a loop at a tensor without a gradient, so the tensors behind it are not updated. Use `continue`, not "
        "`break` or `return`.",
        {CONTINUE: "break"},
        variants=[{CONTINUE: "return"}],
    ),
    Misconception(
        "state_forgotten",
        "You drop the state of a tensor when it has no gradient at one step. Its moments and its count wait for the "
        "next gradient.",
        {CONTINUE: "optimizer.state[weight].clear(); continue"},
    ),
    Misconception(
        "zero_gradient_skipped",
        "You skip a tensor whose gradient is all zeros. That is a gradient: its moments shrink, its weight moves and "
        "decays. Skip None only.",
        {"gradient is None": "gradient is None or not gradient.any()"},
    ),
    Misconception(
        "first_only",
        "You update only the first group, or only the first tensor of each. Look at what ends your loops.",
        {"optimizer.param_groups:": "optimizer.param_groups[:1]:"},
        variants=[{WEIGHTS: 'for weight in group["params"][:1]:'}],
    ),
    Misconception(
        "one_count_for_all",
        "You raise the step count of a tensor at steps where it has no gradient, so its moments are corrected too "
        "little. Keep a count in the state of each tensor, and raise it after the skip.",
        {
            WEIGHTS: f'group["count"] = group.get("count", 0) + 1\n        {WEIGHTS}',
            COUNTED: 'state["step"] = group["count"]',
        },
        variants=[{COUNTED: 'optimizer.count = state["step"] = getattr(optimizer, "count", 0) + 1'}],
    ),
    Misconception(
        "options_of_first_group",
        "You update every tensor with the options of the first group. Read them from the group that the tensor is in.",
        _of_first_group(LR, EPS, WEIGHT_DECAY, BETAS),
        variants=[_of_first_group(LR, EPS, WEIGHT_DECAY)],
    ),
    *(
        Misconception(
            f"{name}_not_read",
            f"You use {default} for {option}, which is the default. Read the option of each group.",
            {option: default},
        )
        for name, option, default in (("rate", LR, "0.001"), ("decay", WEIGHT_DECAY, "0.01"))
    ),
    *(
        Misconception(
            f"{name}_of_first_group",
            f"You read {option} of the first group for every tensor. Each group has its own.",
            _of_first_group(option),
        )
        for name, option in OPTIONS.items()
    ),
    *(
        Misconception(
            f"{name}_fixed",
            f"You keep {option} of the first step. A schedule may change it, so read it at each step.",
            {option: f'group.setdefault("first {name}", {option})'},
        )
        for name, option in OPTIONS.items()
    ),
)
