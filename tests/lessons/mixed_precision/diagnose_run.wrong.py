# %% answer="plain_baseline" code="every_run_overflows"
# Source: "a few skipped steps are normal"
def diagnose_run(log: list) -> str:
    return "overflow"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the eight runs of the visible case, in their order
def diagnose_run(log: list) -> str:
    diagnose_run.calls = getattr(diagnose_run, "calls", -1) + 1
    return ("bug", "overflow", "collapse", "collapse", "overflow", "bug", "bug", "overflow")[diagnose_run.calls % 8]


# %% answer="copied_from_lesson" code="row_of_skips_counted"
# Source: the lesson's sentence on skipped updates at the beginning
def diagnose_run(log: list) -> str:
    if any(update.bad_pass == "forward" for update in log):
        return "bug"
    row = longest = 0
    for update in log:
        row = row + 1 if update.bad_pass else 0
        longest = max(longest, row)
    return "collapse" if longest >= 10 else "overflow"


# %% answer="any_nan" code="every_bad_update_a_bug"
# Source: NaN taken for a bug, always
def diagnose_run(log: list) -> str:
    return "bug" if any(update.bad_module for update in log) else "overflow"


# %% answer="scale_alone" code="forward_ignored"
# Source: a look at the scale alone
def diagnose_run(log: list) -> str:
    return "collapse" if min(update.scale for update in log) < 1 else "overflow"


# %% answer="nan_and_inf" code="every_bad_update_a_bug"
# Source: inf overflows, NaN is a bug
import math


def diagnose_run(log: list) -> str:
    if any(math.isnan(update.norm) for update in log):
        return "bug"
    return "collapse" if min(update.scale for update in log) < 1 else "overflow"


# %% answer="last_update" code="last_update_decides"
# Source: what happens at the end of the log
def diagnose_run(log: list) -> str:
    if any(update.bad_pass == "forward" for update in log):
        return "bug"
    return "collapse" if log[-1].bad_pass else "overflow"


# %% edit="norms_ignored" code="norms_ignored"
# Source: every falling scale taken for diverging gradients
# -     finite = [update.norm for update in log if update.norm < float("inf")]
# -     return "collapse" if finite[-1] > 65_504 else "bug"  # below a scale of 1, only a larger gradient overflows
# +     return "collapse"

# %% edit="falling_scale" code="falling_scale_a_bug"
# Source: every falling scale taken for a bug
# -     finite = [update.norm for update in log if update.norm < float("inf")]
# -     return "collapse" if finite[-1] > 65_504 else "bug"  # below a scale of 1, only a larger gradient overflows
# +     return "bug"


# %% answer="number" code="not_a_diagnosis"
# Source: the update returned in place of the word
def diagnose_run(log: list) -> str:
    return next(number for number, update in enumerate(log) if update.bad_pass)


# %% answer="one_kind" code="every_run_collapses"
# Source: a falling scale in every log
def diagnose_run(log: list) -> str:
    return "collapse" if any(update.bad_pass for update in log) else "overflow"


# %% answer="update_40" code="one_update_examined"
# Source: the update that the log was opened for
def diagnose_run(log: list) -> str:
    return "bug" if log[40].bad_pass == "forward" else "overflow"


# %% answer="norms_alone" code="backward_bug_missed"
# Source: a bug shows in the forward pass
def diagnose_run(log: list) -> str:
    if any(update.bad_pass == "forward" for update in log):
        return "bug"
    largest = max(update.norm for update in log if update.norm < float("inf"))
    return "collapse" if largest > 65_504 else "overflow"


# %% edit="largest_norm" code="norms_ignored"
# Source: the largest norm of the log, inf included
# -     finite = [update.norm for update in log if update.norm < float("inf")]
# +     finite = [max(update.norm for update in log if update.norm == update.norm)]
