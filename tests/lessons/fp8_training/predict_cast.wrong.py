# Wrong answers to predict_cast.
# Not here: library_shortcut, because no library has an entry point for it.

# %% answer="plain_baseline" code="largest_scaled_to_one"
# Source: normalisation by the largest value
def predict_cast(sigma, largest, dtype):
    limits = torch.finfo(dtype)
    scale = 1 / largest
    flushed = limits.smallest_normal * limits.eps / 2 / scale
    return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))


# %% answer="copied_from_lesson" code="subnormals_forgotten"
# Source: the column "normal" of the table of formats
def predict_cast(sigma, largest, dtype):
    limits = torch.finfo(dtype)
    scale = limits.max / largest
    flushed = limits.smallest_normal / 2 / scale
    return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))


# %% edit="hard_coded" code="one_format_for_all" seed=20011
# Source: the formats of the first cases
# -     scale = limits.max / largest
# +     scale = 448 / largest

# %% edit="inverted" code="scale_inverted"
# Source: the factor of dequantization
# -     scale = limits.max / largest
# +     scale = largest / limits.max

# %% edit="inverted_and_consistent" code="scale_inverted"
# Source: scale as what one divides by
# -     scale = limits.max / largest
# +     scale = largest / limits.max
# ...
# -     flushed = subnormal / 2 / scale
# +     flushed = subnormal / 2 * scale

# %% edit="by_sigma" code="outlier_left_out"
# Source: the scale of most values
# -     scale = limits.max / largest
# +     scale = limits.max / sigma

# %% edit="smallest_lost" code="rounding_forgotten"
# Source: everything below the smallest number is lost
# -     flushed = subnormal / 2 / scale
# +     flushed = subnormal / scale

# %% edit="after_scaling" code="threshold_not_scaled_back"
# Source: the limit of the format
# -     flushed = subnormal / 2 / scale
# +     flushed = subnormal / 2

# %% edit="scaled_again" code="threshold_scaled_twice"
# Source: the direction of the way back
# -     flushed = subnormal / 2 / scale
# +     flushed = subnormal / 2 * scale

# %% edit="positive_only" code="one_side_counted"
# Source: the table of the normal distribution from 0 to z
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2)) / 2

# %% edit="cumulative" code="distribution_function_returned"
# Source: scipy.stats.norm.cdf
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, torch.distributions.Normal(0.0, sigma).cdf(torch.tensor(flushed, dtype=torch.double)).item()

# %% edit="kept" code="kept_share_returned"
# Source: what survives
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, math.erfc(flushed / sigma / math.sqrt(2))

# %% edit="unit_sigma" code="sigma_not_used"
# Source: torch.randn
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, math.erf(flushed / math.sqrt(2))

# %% edit="no_root" code="root_of_two_missing"
# Source: erf taken for the share within z sigma
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, math.erf(flushed / sigma)

# %% edit="uniform" code="share_linear_in_the_threshold"
# Source: values spread evenly up to the largest
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, flushed / largest

# %% edit="density" code="share_linear_in_the_threshold"
# Source: the density at zero times the width
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, min(1.0, 2 * flushed / sigma / math.sqrt(2 * math.pi))

# %% edit="share_in_the_middle" code="order_exchanged"
# Source: what is lost and where, in the other order
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, math.erf(flushed / sigma / math.sqrt(2)), flushed

# %% edit="share_of_scaled" code="threshold_not_scaled_back"
# Source: the threshold of the format compared with sigma
# -     return scale, flushed, math.erf(flushed / sigma / math.sqrt(2))
# +     return scale, flushed, math.erf(flushed * scale / sigma / math.sqrt(2))
