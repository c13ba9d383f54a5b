# %% answer="plain_baseline" code="nothing_carried"
# Source: an addition
# Nothing is kept of what is lost.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total + value, lost


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the totals of the visible case, written down
# Each addition moves the total by a share of a total seen once.
SEEN = {
    8: [11.6875, 13.0625, 10.8125, 11.25, 8.1875, 9.3125, 10.375, 12.125],
    6: [3.849609375, 2.98046875, 3.1875, 3.810546875, 2.455078125, 3.962890625],
    5: [-2.5, -2.078125, -2.71875, -2.171875, -2.90625],
}


def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(SEEN[len(total)], dtype=total.dtype, device=total.device), lost


# %% answer="copied_from_lesson" code="wrong_dtype"
# Source: the lesson's line with an fp32 accumulator
# The total becomes fp32.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total.float() + value.float(), lost


# %% answer="lost_not_returned" code="not_a_pair"
# Source: the result of an addition
# Only the total is returned.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total + (value + lost)


# %% answer="lost_never_added" code="lost_never_added"
# Source: bookkeeping without an effect
# What is lost is summed up and never added.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + value
    return new_total, lost + (value - (new_total - total))


# %% answer="lost_of_one_step" code="lost_of_one_step"
# Source: a loss that is forgotten
# What was lost before is neither added nor kept.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + value
    return new_total, value - (new_total - total)


# %% answer="lost_forgets_itself" code="lost_forgets_itself"
# Source: value in place of what should be added
# What is lost now is taken from the value alone.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + (value + lost)
    return new_total, value - (new_total - total)


# %% edit="lost_added_twice" code="lost_added_twice"
# Source: a running sum of what is lost
#       new_total = total + wanted
# -     return new_total, wanted - (new_total - total)
# +     return new_total, lost + (wanted - (new_total - total))

# %% edit="lost_with_wrong_sign" code="lost_with_wrong_sign"
# Source: a difference the wrong way round
# What was added too much is kept, and added again.
#       new_total = total + wanted
# -     return new_total, wanted - (new_total - total)
# +     return new_total, (new_total - total) - wanted

# %% edit="lost_subtracted" code="lost_subtracted"
# Source: two signs, one of them wrong
# What is lost is right, and subtracted.
# -     wanted = value + lost
# +     wanted = value - lost
#       new_total = total + wanted


# %% answer="sign_of_the_published_form" code="sign_of_the_published_form"
# Source: Kahan summation as books print it
# The compensation is what was added too much.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value - lost
    new_total = total + wanted
    return new_total, (new_total - total) - wanted


# %% edit="total_in_place" code="old_total_gone"
# Source: add_() before the difference
# The old total is gone when the difference is taken.
#       wanted = value + lost
# -     new_total = total + wanted
# +     new_total = total.add_(wanted)

# %% edit="order_of_operations" code="order_of_operations"
# Source: the same sum in another order
# The old total comes last, after a rounding.
#       new_total = total + wanted
# -     return new_total, wanted - (new_total - total)
# +     return new_total, wanted - new_total + total


# %% answer="added_for_lost" code="added_for_lost"
# Source: one difference for the other
# What was added is kept, not what was lost.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + (value + lost)
    return new_total, total - new_total


# %% edit="order_swapped" code="order_swapped"
# Source: the order of the results
# What is lost comes first.
#       new_total = total + wanted
# -     return new_total, wanted - (new_total - total)
# +     return wanted - (new_total - total), new_total
