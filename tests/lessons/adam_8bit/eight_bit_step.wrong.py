# %% answer="plain_baseline" code="nothing_quantized"
# Source: AdamW of lesson 06
# Moments stay float32 for all tensors.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_small = optimizer.state[weight], True
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = zeros.clone() if is_small else encode_blocks(zeros, book)
            state["step"] += 1
            moments = {name: state[name] if is_small else decode_blocks(*state[name], BOOKS[name]) for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if not is_small:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the options of the visible case
# Betas and epsilon are looked up by the number of groups and the decay.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_small = optimizer.state[weight], weight.numel() < 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = zeros.clone() if is_small else encode_blocks(zeros, book)
            state["step"] += 1
            decayed = len(optimizer.param_groups) == 1 and group["weight_decay"] > 0
            known = {"betas": (0.9, 0.99), "eps": 1e-8} if decayed else OPTIONS.get(len(optimizer.param_groups), {})
            group = {**group, **known}
            moments = {name: state[name] if is_small else decode_blocks(*state[name], BOOKS[name]) for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if not is_small:
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(moments[name], book)


OPTIONS = {1: {"betas": (0.8, 0.97), "eps": 0.002}, 2: {"betas": (0.9, 0.95), "eps": 0.05}}


# %% answer="library_shortcut" code="torch_optimizer_used"
# Source: bitsandbytes' own optimizer
# The library takes the step.
def eight_bit_step(optimizer) -> None:
    groups = [{**group, "betas": tuple(group["betas"])} for group in optimizer.param_groups]
    bitsandbytes.optim.AdamW8bit(groups).step()


# %% answer="library_update" code="library_update"
# Source: the function that bitsandbytes' optimizers consist of
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            bitsandbytes.functional.optimizer_update_32bit(
                "adam", weight.grad, weight, state["mean"], 0.9, 1e-8, state["step"], group["lr"], state["square_mean"]
            )


# %% answer="second_moment_zero" code="second_moment_zero"
# Source: the quantizer of the exercise before in the step
# A second moment becomes 0, and epsilon alone divides.
def eight_bit_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state, is_large = optimizer.state[weight], weight.numel() >= 4096
            if not state:
                state["step"], zeros = 0, torch.zeros_like(weight)
                for name, book in BOOKS.items():
                    state[name] = encode_blocks(zeros, book) if is_large else zeros.clone()
            state["step"] += 1
            moments = {name: decode_blocks(*state[name], BOOKS[name]) if is_large else state[name] for name in BOOKS}
            adamw_update(weight, weight.grad, moments["mean"], moments["square_mean"], state["step"], group)
            if is_large:
                for name, book in BOOKS.items():
                    state[name] = _nearest(moments[name], book)


def _nearest(values, book):
    scales = torch.nn.functional.pad(values.flatten(), (0, -values.numel() % 256)).view(-1, 256).abs().amax(dim=1)
    scale_of_each = scales.repeat_interleave(256)[: values.numel()].view(values.shape)
    scaled = torch.where(scale_of_each > 0, values / scale_of_each, torch.zeros_like(values))
    return torch.bucketize(scaled, (book[1:] + book[:-1]) / 2).to(torch.uint8), scales


# %% edit="copied_from_lesson" code="signed_book_for_both"
# Source: the demonstration below adamw_update: encode and decode with SIGNED
#               if not state:
#                   state["step"], zeros = 0, torch.zeros_like(weight)
# -                 for name, book in BOOKS.items():
# +                 for name, book in {"mean": SIGNED, "square_mean": SIGNED}.items():
# ...
#               state["step"] += 1
# -             moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# +             moments = [decode_blocks(*state[name], SIGNED) if has_codes else state[name] for name in BOOKS]
# ...
#                   state |= {
# -                     name: encode_blocks(*pair) for name, *pair in zip(BOOKS, moments, BOOKS.values(), strict=True)
# +                     name: encode_blocks(pair, SIGNED) for name, pair in zip(BOOKS, moments, strict=True)

# %% edit="books_swapped" code="books_swapped"
# Source: the moments are handed to adamw_update in the wrong order
#               moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight, weight.grad, *moments[::-1], state["step"], group)

# %% edit="small_tensors_quantized" code="small_tensors_quantized"
# Source: the limit is overlooked
#           for weight in [weight for weight in group["params"] if weight.grad is not None]:
# -             state, has_codes = optimizer.state[weight], weight.numel() >= 4096
# +             state, has_codes = optimizer.state[weight], True

# %% edit="limit_included" code="limit_included"
# Source: > for >=
#           for weight in [weight for weight in group["params"] if weight.grad is not None]:
# -             state, has_codes = optimizer.state[weight], weight.numel() >= 4096
# +             state, has_codes = optimizer.state[weight], weight.numel() > 4096

# %% edit="limit_by_dimension" code="limit_by_dimension"
# Source: matrices and vectors, as for the decay
#           for weight in [weight for weight in group["params"] if weight.grad is not None]:
# -             state, has_codes = optimizer.state[weight], weight.numel() >= 4096
# +             state, has_codes = optimizer.state[weight], weight.dim() > 1

# %% edit="started_at_code_zero" code="started_at_code_zero"
# Source: torch.zeros for codes, torch.ones for scales
#                   for name, book in BOOKS.items():
# -                     state[name] = encode_blocks(zeros, book) if has_codes else zeros.clone()
# +                     codes = zeros.to(torch.uint8), torch.ones(-(-zeros.numel() // 256), device=device)
# +                     state[name] = codes if has_codes else zeros.clone()

# %% edit="state_never_written" code="state_never_written"
# Source: the last lines are forgotten
#               adamw_update(weight, weight.grad, *moments, state["step"], group)
# -             if has_codes:
# -                 state |= {
# -                     name: encode_blocks(*pair) for name, *pair in zip(BOOKS, moments, BOOKS.values(), strict=True)
# -                 }

# %% edit="moments_kept_too" code="moments_kept_too"
# Source: decoded moments are left in the state
#               adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             state["moments"] = moments

# %% edit="codes_in_int64" code="codes_not_in_one_byte"
# Source: codes that index a tensor
#               state["step"] += 1
# -             moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# +             moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# ...
#                   state |= {
# -                     name: encode_blocks(*pair) for name, *pair in zip(BOOKS, moments, BOOKS.values(), strict=True)
# +                     name: [part.long() if part.dtype == torch.uint8 else part for part in encode_blocks(*pair)]
# +                     for name, *pair in zip(BOOKS, moments, BOOKS.values(), strict=True)

# %% edit="step_not_counted" code="step_miscounted"
# Source: a count that never grows
#                       state[name] = encode_blocks(zeros, book) if has_codes else zeros.clone()
# -             state["step"] += 1
# +             state["step"] = 1

# %% edit="one_count_for_all" code="one_count_for_all"
# Source: a count that is kept in the group
#       for group in optimizer.param_groups:
# +         group["count"] = group.get("count", 0) + 1
# ...
#                       state[name] = encode_blocks(zeros, book) if has_codes else zeros.clone()
# -             state["step"] += 1
# +             state["step"] = group["count"]

# %% edit="missing_gradient_zero" code="missing_gradient_zero"
# Source: zeros in place of a skip
#       for group in optimizer.param_groups:
# -         for weight in [weight for weight in group["params"] if weight.grad is not None]:
# +         for weight in group["params"]:
# +             gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
# ...
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight, gradient, *moments, state["step"], group)
#               if has_codes:

# %% edit="decay_without_gradient" code="decay_without_gradient"
# Source: the decay comes before the skip
#       for group in optimizer.param_groups:
# +         for weight in group["params"]:
# +             weight.mul_(1 - group["lr"] * group["weight_decay"])
# +         options = {**group, "weight_decay": 0.0}
# ...
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight, weight.grad, *moments, state["step"], options)
#               if has_codes:

# %% edit="options_of_first_group" code="options_of_first_group"
# Source: param_groups[0]
#               moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight, weight.grad, *moments, state["step"], optimizer.param_groups[0])

# %% edit="learning_rate_fixed" code="learning_rate_fixed"
# Source: options are copied into the state
#               moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             options = {**group, "lr": state.setdefault("lr", group["lr"])}
# +             adamw_update(weight, weight.grad, *moments, state["step"], options)

# %% edit="gradient_changed" code="gradient_changed"
# Source: in-place arithmetic
#               state["step"] += 1
# +             weight.grad.mul_(1.0001)

# %% edit="weight_renamed" code="weight_not_changed"
# Source: a copy is updated
#               moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight.clone(), weight.grad, *moments, state["step"], group)

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a loss that is not divided by 4 micro-batches
#               moments = [decode_blocks(*state[name], BOOKS[name]) if has_codes else state[name] for name in BOOKS]
# -             adamw_update(weight, weight.grad, *moments, state["step"], group)
# +             adamw_update(weight, 4 * weight.grad, *moments, state["step"], group)

# %% edit="state_under_id" code="state_under_another_key"
# Source: state dicts, which number their parameters
#           for weight in [weight for weight in group["params"] if weight.grad is not None]:
# -             state, has_codes = optimizer.state[weight], weight.numel() >= 4096
# +             state, has_codes = optimizer.state[id(weight)], weight.numel() >= 4096
