# Source: each default computed: the factor on the rate, the factor on the gradient, the rows
# A default breaks equality where its factor is not 1.
def breaking_defaults(updates, largest_gradient_norm):
    last_rate = 1 - (updates - 1) / updates
    gradient_factor = min(1.0, 1.0 / largest_gradient_norm)
    return {"schedule": last_rate != 1, "clipping": gradient_factor != 1, "sampling": not updates == 1}
