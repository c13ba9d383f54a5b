"""Judges which model was trained in which form, and names what each form hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.verdict import Verdict

Facts = Mapping[str, Any]

# The diagnosis where a default of the Trainer is the cause.
TRAINER_DEFAULTS = {
    "trainer_epoch_repeated": "You train for too many epochs. Set num_train_epochs: the Trainer's default is 3.",
    "trainer_gradient_clipped": "You let the Trainer clip the gradient. Set max_grad_norm: the default is 1.0.",
    "trainer_learning_rate_changed": "You let the Trainer lower the learning rate. "
    "Set lr_scheduler_type: the default falls to 0.",
    "trainer_other_learning_rate": "You train with another learning rate. Set learning_rate, whose default is 5e-5, "
    "and no warm-up.",
    "trainer_another_optimizer": "You train with another optimizer. Set optim: the Trainer's default is AdamW.",
    "trainer_weight_decay": "You let the Trainer decay the weights. Leave weight_decay at its default of 0.",
    "trainer_whole_group_in_one_forward": "You train on more rows at a time than asked for. "
    "Set per_device_train_batch_size: the default is 8.",
    "trainer_micro_batches_not_seen_once": "You leave out rows, or train on other numbers of them. "
    "Look at per_device_train_batch_size, max_steps and dataloader_drop_last.",
    "trainer_rows_in_another_order": "You let the Trainer draw the rows at random. "
    "Set train_sampling_strategy: the default is random.",
}

# The diagnosis where a loop with Accelerate makes its own optimizer, and none is given.
ACCELERATE_OPTIMIZERS = {
    "accelerate_other_learning_rate": "You step with another learning rate. Give SGD the `learning_rate` of this call.",
    "accelerate_another_optimizer": "You move the weights in another way than plain SGD does. "
    "Look at the optimizer that you make, and its arguments.",
}


def judge_own_form(facts: Facts, calls: Facts, *, is_in_trainer: bool) -> Verdict | None:
    """Find out whether a model was trained in the form that is asked for, and there alone.

    Args:
        facts: "forward_rows" of the model.
        calls: "forwards_in_trainer" of the model, as `record_library_calls` notes them.
        is_in_trainer: Whether the Trainer is the form that is asked for, or else the loop with Accelerate.
    """
    in_trainer = sum(calls["forwards_in_trainer"])
    in_loop = len(facts["forward_rows"]) - in_trainer
    own, other = (in_trainer, in_loop) if is_in_trainer else (in_loop, in_trainer)
    if own and not other:
        return None
    measured = f"{count(in_loop, 'forward')} outside Trainer.train, {in_trainer} in it"
    if is_in_trainer:
        look_at = "You run the model outside Trainer.train. Hand this model to a Trainer, and call its train() only."
        if not in_loop:
            look_at = "You never run this model. Hand it to a Trainer, not a copy of it, and call train()."
        return Verdict("trainer_not_used", "every forward in Trainer.train", measured, look_at)
    look_at = "You train with the Trainer, or not at all. Write the loop with Accelerate in this function."
    return Verdict("accelerate_loop_not_used", "every forward in a loop with Accelerate", measured, look_at)


def name_form(verdict: Verdict, form: str, look_at: Mapping[str, str]) -> Verdict:
    """Add the form to the code and the diagnosis of a loop; replace the diagnosis where the form hides the cause."""
    code = f"{form}_{verdict.code}"
    own = (ACCELERATE_OPTIMIZERS | dict(look_at)).get(code)
    return replace(verdict, code=code, look_at=own or f"{verdict.look_at} (In the {form} form.)")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where there are more or none."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
