# %% answer="plain_baseline" code="no_default_named"
# Source: the belief that two libraries with one model and one data set train alike
# No default makes a difference.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": False, "clipping": False, "schedule": False}


# %% answer="hard_coded" code="visible_runs_remembered" seed=20011
# Source: the runs that the visible check tells about, collected one failed check after the other
# A list of runs in place of a rule.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    several = updates in {2, 3, 58, 510}
    return {"sampling": several, "clipping": largest_gradient_norm > 1, "schedule": several}


# %% answer="copied_from_lesson" code="every_default_named"
# Source: the demonstration of one run, in which all three defaults break equality
# What is true of one run is said of every run.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": True, "clipping": True, "schedule": True}


# %% answer="true_for_equal" code="answers_inverted"
# Source: the question turned round: which defaults keep the weights equal
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates == 1, "clipping": largest_gradient_norm < 1.0, "schedule": updates == 1}


# %% answer="clipping_always" code="clipping_always"
# Source: the documentation of TrainingArguments: max_grad_norm=1.0 is on unless it is turned off
# What is on is taken for what acts.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    schedule = updates >= 2
    return dict(sampling=schedule, clipping=True, schedule=schedule)


# %% answer="clipping_by_updates" code="clipping_decided_by_updates"
# Source: one condition for all three defaults
# A run with one update is thought to be safe from everything.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    breaks = updates > 1
    return {name: breaks for name in ("sampling", "clipping", "schedule")}


# %% answer="clipping_only_with_several_updates" code="clipping_only_with_several_updates"
# Source: the thought that the first update is shared by both runs, whatever its gradient
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    several = updates > 1
    return {"sampling": several, "clipping": several and largest_gradient_norm > 1.0, "schedule": several}


# %% answer="clipping_from_norm_ten" code="clipping_threshold"
# Source: the word exploding gradients: only a very large norm is clipped
# The threshold lies far above 1.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    is_exploding = largest_gradient_norm > 10
    return {"sampling": updates > 1, "clipping": is_exploding, "schedule": updates > 1}


# %% answer="only_the_true_ones" code="key_missing"
# Source: the habit of leaving out what is False
# Keys are missing where the answer is False.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    answer = {}
    if updates > 1:
        answer["sampling"] = answer["schedule"] = True
    if largest_gradient_norm > 1:
        answer["clipping"] = True
    return answer


# %% answer="lists_the_names" code="names_listed"
# Source: the task read as: name the defaults that break equality
# A list of names where a dict is asked for.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    broken = []
    if updates > 1:
        broken += ["sampling", "schedule"]
    if largest_gradient_norm > 1:
        broken.append("clipping")
    return broken


# %% answer="counts_for_truths" code="number_for_truth"
# Source: Python takes numbers for truth values
# The number of updates in excess stands for True.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates - 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates - 1}


# %% answer="prints_only" code="returned_none"
# Source: the habit of printing a result
# Nothing is returned.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    print({"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates > 1})


# %% answer="sampling_always" code="sampling_always"
# Source: the habit of saying that shuffling changes the run
# A single update has the same rows in every order.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": True, "clipping": largest_gradient_norm > 1, "schedule": updates > 1}


# %% answer="sampling_never" code="sampling_never"
# Source: the belief that an epoch reads every row once anyway, so the order is the same
# The rows of each update are other ones.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": False, "clipping": largest_gradient_norm > 1, "schedule": updates > 1}


# %% answer="schedule_always" code="schedule_always"
# Source: lr_scheduler_type="linear" read as a lower learning rate from the first update on
# Update 0 uses the whole learning rate.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates != 1, "clipping": largest_gradient_norm > 1.0, "schedule": True}


# %% answer="schedule_from_three_updates" code="schedule_threshold"
# Source: counting updates from 1: the schedule begins after the second
# The second update has i = 1 already.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates > 2}
