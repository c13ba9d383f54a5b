# Wrong answers to fate_of_moment.

# %% answer="plain_baseline" code="one_fate_for_all"
# Source: a factor below 1 is thought to make everything smaller
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    return "decays"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the words of the visible case, in their order
import itertools

SEEN = itertools.cycle(["frozen", "decays", "stalls", "frozen", "frozen", "stalls", "decays", "decays", "stalls"])


def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    return next(SEEN)


# %% edit="copied_from_lesson" code="bf16_assumed"
# Source: the spacing of bf16 in the lesson's text
# -     half_spacing = 2.0 ** -(mantissa_bits + 1)  # from 1 up to 2
# +     half_spacing = 2.0**-8


# %% edit="whole_spacing" code="whole_spacing"
# Source: eps, which is a whole spacing
# -     half_spacing = 2.0 ** -(mantissa_bits + 1)  # from 1 up to 2
# +     half_spacing = 2.0**-mantissa_bits


# %% edit="below_one" code="spacing_too_fine"
# Source: the spacing below 1
# -     half_spacing = 2.0 ** -(mantissa_bits + 1)  # from 1 up to 2
# +     half_spacing = 2.0 ** -(mantissa_bits + 2)


# %% answer="at_one_only" code="spacing_at_one_only"
# Source: the loss of the number 1 alone
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    return "frozen" if 1 - beta2 < 2.0 ** -(mantissa_bits + 1) else "decays"


# %% answer="beta2_rounded" code="beta2_rounded"
# Source: beta2 itself rounded to the format
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    spacing = 2.0 ** -(mantissa_bits + 1)  # just below 1
    return "frozen" if round(beta2 / spacing) * spacing == 1 else "decays"


# %% edit="never_frozen" code="stalled_taken_for_frozen"
# Source: a moment that stays is said to stall
#       if 2 * lost <= half_spacing:
# -         return "frozen"
# +         return "stalls"


# %% edit="reversed" code="answers_reversed"
# Source: a comparison turned round
#       if 2 * lost <= half_spacing:
# -         return "frozen"
# -     return "stalls" if lost < half_spacing else "decays"
# +         return "decays"
# +     return "stalls" if lost < half_spacing else "frozen"


# %% edit="other_word" code="wrong_word"
# Source: a word of the learner's own
#       if 2 * lost <= half_spacing:
# -         return "frozen"
# +         return "stays"


# %% edit="never_decays" code="decays_never"
# Source: some number is thought to stay in every format
# -     return "stalls" if lost < half_spacing else "decays"
# +     return "stalls"
