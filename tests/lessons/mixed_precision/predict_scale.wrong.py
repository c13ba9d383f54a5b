# %% answer="plain_baseline" code="scale_never_changes"
# Source: training without a scaler
# The scale is taken for a constant, whatever happens.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    return start_scale


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the histories of the visible case, written down
# A table of scales by number of updates replaces the rules.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scales = {
        14: [65536, 65536, 65536, 32768, 32768, 32768, 32768, 65536, 65536, 65536, 32768, 32768, 32768, 32768, 65536]
    }
    return scales[14][min(len(found_inf), 14)]


# %% edit="copied_from_lesson" code="default_start_scale"
# Source: the lesson's sentence on GradScaler's defaults
# The library's defaults replace the arguments.
# -     scale, good_updates = start_scale, 0
# +     scale, good_updates = 65536.0, 0
#       for is_inf in found_inf:

# %% edit="back_to_start" code="backs_off_from_start"
# Source: back-off as a restart
# An infinity sets the scale back to where it started.
#           if is_inf:
# -             scale /= 2
# +             scale = start_scale

# %% edit="counter_not_reset" code="count_not_reset"
# Source: survey of courses, lesson 05: 65,536 for 32,768 at step 4
# The count of good updates goes on through an infinity.
#       for is_inf in found_inf:
# -         good_updates = 0 if is_inf else good_updates + 1
#           if is_inf:
#               scale /= 2
# -         elif good_updates == growth_interval:
# +             continue
# +         good_updates += 1
# +         if good_updates == growth_interval:

# %% edit="count_starts_at_one" code="count_starts_at_one"
# Source: a count that is set to 1 after an infinity
# The infinite update itself is counted as the first good one.
#       for is_inf in found_inf:
# -         good_updates = 0 if is_inf else good_updates + 1
#           if is_inf:
# -             scale /= 2
# -         elif good_updates == growth_interval:
# +             scale, good_updates = scale / 2, 1
# +             continue
# +         good_updates += 1
# +         if good_updates >= growth_interval:


# %% answer="grows_every_time" code="grows_every_time"
# Source: growth as the mirror of back-off
# Every good update doubles, as every infinity halves.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        scale = scale / 2 if is_inf else scale * 2
    return scale


# %% answer="count_goes_on_after_growth" code="count_kept_after_growth"
# Source: a missing reset, with == in the comparison
# The count goes on after a growth, so that the scale doubles once in a row.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale *= 2
    return scale


# %% edit="grows_too_early" code="grows_too_early"
# Source: a count that is compared before it is raised
# The update that completes the interval is taken to be one earlier.
#       for is_inf in found_inf:
# -         good_updates = 0 if is_inf else good_updates + 1
#           if is_inf:
# -             scale /= 2
# -         elif good_updates == growth_interval:
# +             scale, good_updates = scale / 2, 0
# +             continue
# +         good_updates += 1
# +         if good_updates >= max(growth_interval - 1, 1):


# %% edit="grows_too_late" code="grows_too_late"
# Source: a comparison with > instead of >=
# One good update more than the interval is waited for.
#               scale /= 2
# -         elif good_updates == growth_interval:
# +         elif good_updates > growth_interval:


# %% edit="infinity_counted" code="infinity_counted"
# Source: a count of all updates
# The count is raised before it is asked whether the update was good.
#       for is_inf in found_inf:
# -         good_updates = 0 if is_inf else good_updates + 1
# +         good_updates += 1
#           if is_inf:
#               scale /= 2
# -         elif good_updates == growth_interval:
# +         if good_updates == growth_interval:


# %% answer="interval_hard_coded" code="interval_hard_coded"
# Source: the growth interval of the visible history
# The growth interval is 4, whatever the argument says.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == 4:
                scale, good = scale * 2, 0
    return scale


# %% edit="scale_of_last_update" code="last_update_forgotten"
# Source: the scale that was used, not the next one
# The last update is left out of the history.
#       scale, good_updates = start_scale, 0
# -     for is_inf in found_inf:
# +     for is_inf in found_inf[:-1]:


# %% edit="no_back_off" code="never_falls"
# Source: survey of courses, lesson 05: the scale never falls
# An infinity ends the row of good updates, and nothing else.
#           good_updates = 0 if is_inf else good_updates + 1
# -         if is_inf:
# -             scale /= 2
# -         elif good_updates == growth_interval:
# +         if good_updates == growth_interval:


# %% answer="never_grows" code="never_recovers"
# Source: a scaler that never recovers
# Back-off without growth: the scale can only fall.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    return start_scale / 2 ** sum(found_inf)


# %% answer="returned_in_the_loop" code="returned_in_the_loop"
# Source: a return that is indented too far
# The function ends after the first update.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        good = 0 if is_inf else good + 1
        scale = scale / 2 if is_inf else scale
        if good == growth_interval:
            scale, good = scale * 2, 0
        return scale


# %% answer="floor_at_start" code="never_below_start"
# Source: a fresh reader's guess: a scale falls back to where it began, and no further
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale = max(scale / 2, start_scale)
        elif good_updates % growth_interval == 0:
            scale *= 2
    return scale


# %% answer="directions_swapped" code="directions_swapped"
# Source: a fresh reader's slip: an inf is answered with a larger scale
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale *= 2
        elif good_updates % growth_interval == 0:
            scale /= 2
    return scale
