# Wrong answers to gradient_noise_scale.
# Not here: library_shortcut, because no library of the course has it.
# Not here: hard_coded, because the notebook prints no value of the cases.
# Not here: copied_from_lesson, because nothing above it computes a noise scale.

# %% answer="plain_baseline" code="signal_with_its_noise"
# Source: variance over the squared norm of the mean
def gradient_noise_scale(gradients, rows):
    batch = rows * len(gradients)
    small = gradients.square().sum(dim=1).mean()
    big = gradients.mean(dim=0).square().sum()
    return ((small - big) / (1 / rows - 1 / batch) / big).item()


# %% edit="noise_not_scaled" code="noise_of_a_micro_batch"
# Source: the variance between micro-batches
# -     noise = (small - big) / (1 / rows - 1 / batch)
# +     noise = small - big

# %% edit="signal_small" code="signal_of_one_micro_batch"
# Source: the norm of a micro-batch's gradient
# -     signal = (batch * big - rows * small) / (batch - rows)
# +     signal = small

# %% edit="norms" code="norms_not_squared"
# Source: the squares forgotten
# -     small = gradients.square().sum(dim=1).mean()
# -     big = gradients.mean(dim=0).square().sum()
# +     small = gradients.norm(dim=1).mean()
# +     big = gradients.mean(dim=0).norm()

# %% edit="mean_norm" code="norm_of_the_mean_norm"
# Source: mean of norms, then squared
# -     small = gradients.square().sum(dim=1).mean()
# +     small = gradients.norm(dim=1).mean() ** 2

# %% edit="first_only" code="one_micro_batch_only"
# Source: the paper's B_small, from one micro-batch
# -     small = gradients.square().sum(dim=1).mean()
# +     small = gradients[0].square().sum()

# %% edit="rows_ignored" code="batch_of_micro_batches"
# Source: the number of micro-batches for the batch
# -     batch = rows * len(gradients)
# +     batch = len(gradients)

# %% edit="mean_for_sum" code="mean_over_the_numbers"
# Source: .mean() for .sum(dim=1).mean()
# -     small = gradients.square().sum(dim=1).mean()
# +     small = gradients.square().mean()

# %% edit="inverted" code="inverted"
# Source: signal to noise
# -     return (noise / signal).item()
# +     return (signal / noise).item()

# %% edit="biased_variance" code="spread_around_the_mean_divided_by_m"
# Source: gradients.var(dim=0, correction=0)
# -     noise = (small - big) / (1 / rows - 1 / batch)
# +     noise = rows * gradients.var(dim=0, correction=0).sum()

# %% edit="whole_rows" code="rounded"
# Source: a batch size is a whole number
# -     return (noise / signal).item()
# +     return round((noise / signal).item())

# %% edit="differences_swapped" code="negative"
# Source: big - small
# -     noise = (small - big) / (1 / rows - 1 / batch)
# +     noise = (big - small) / (1 / rows - 1 / batch)

# %% edit="in_batches" code="other_noise_scale"
# Source: divided by the batch
# -     return (noise / signal).item()
# +     return (noise / signal / batch).item()
