"""The judges of Further in lesson 05: bf16 in two forms, fp16 on its device, an update within a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from grader.judging.lessons.mixed_precision import budget
from grader.judging.lessons.mixed_precision.budget import judge_update_peak, judge_whole_batch_update
from grader.judging.lessons.mixed_precision.forms import judge_accelerate_bf16, judge_trainer_bf16
from grader.judging.lessons.mixed_precision.fp16_runs import judge_fp16_on_its_device
from grader.lessons.mixed_precision.budget import gradient_budget_cases, peak_budget_case
from grader.lessons.mixed_precision.budget_runs import observe_budget_update
from grader.lessons.mixed_precision.checks import check_fp16_on_its_device, check_whole_batch_update
from grader.lessons.mixed_precision.forms import precision_forms_cases
from grader.lessons.mixed_precision.groups import device_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.observing.recording import flat_gradient, flat_weights
from grader.verdict import Verdict

SEEDS = (0, 20_011)

# Two forms


def run_form(case: Any, dtype: torch.dtype | None, factor: float = 1.0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The raw loop, recorded as the check records a form."""
    model, dataset = case.make_model(), case.make_dataset()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    rows, tensors = [], {}
    for update, start in enumerate(range(0, case.pairs, case.rows)):
        batch = dataset[start : start + case.rows]
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            loss = model(**batch).loss
        optimizer.zero_grad()
        (factor * loss).backward()
        rows.append(len(batch["labels"]))
        tensors |= {f"gradient.{update}": flat_gradient(model), f"weights.{update}": flat_weights(model).clone()}
        optimizer.step()
    tensors[f"weights.{len(rows)}"] = flat_weights(model)
    name = str(dtype or torch.float32).removeprefix("torch.")
    facts = {
        "events": ["forward", "backward", "update"] * len(rows),
        "forward_rows": rows,
        "autocast_formats": [name] * len(rows),
        "is_backward_in_autocast": [False] * len(rows),
        "accelerators": [{"precision": "bf16", "has_scaler": False}] * len(rows),
    }
    return facts, tensors


def judge_form(form: str, seed: int, dtype: torch.dtype | None = torch.bfloat16, factor: float = 1.0, **facts) -> str:
    settings, calls, tensors = [], [], {}
    for index, case in enumerate(precision_forms_cases(seed)):
        seen, values = run_form(case, dtype, factor)
        settings.append(seen | facts)
        updates = len(seen["forward_rows"])
        in_trainer = updates if form == "trainer" else 0
        prepared = ["model", "optimizer", "loader"]
        calls.append(
            {
                "trainer": [1],
                "forwards_in_trainer": [in_trainer],
                "prepared": prepared,
                "backward": [1],
                "used": prepared[1:],
            }
        )
        tensors |= {f"{index}.{name}": value for name, value in values.items()}
    judge = judge_trainer_bf16 if form == "trainer" else judge_accelerate_bf16
    return judge(Observation({"settings": settings, "calls": calls}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ("accelerate", "trainer"))
def test_bf16_passes_and_other_formats_are_named(form: str, seed: int) -> None:
    assert judge_form(form, seed) == "passed"
    assert judge_form(form, seed, dtype=None) == f"{form}_in_float32"
    assert judge_form(form, seed, autocast_formats=["float16"]) == f"{form}_in_another_format"
    assert judge_form(form, seed, factor=2.0) == f"{form}_gradient_scaled"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ("accelerate", "trainer"))
def test_an_fp16_run_that_saw_no_scaler_fails(form: str, seed: int) -> None:
    dropped = [{"precision": "fp16", "has_scaler": False}]
    assert judge_form(form, seed, dtype=None, accelerators=dropped) == f"{form}_fp16_without_scaler"


def test_a_float32_run_under_the_name_of_bf16_fails_by_its_format_alone() -> None:
    case = precision_forms_cases(0)[0]
    exact, rounded = run_form(case, None)[1]["gradient.0"], run_form(case, torch.bfloat16)[1]["gradient.0"]
    assert 0 < float((exact - rounded).norm() / exact.norm()) < 0.08


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 20_011))
def test_the_last_batch_is_shorter_in_one_setting(seed: int) -> None:
    assert [case.pairs % case.rows for case in precision_forms_cases(seed)] == [0, 1]


# fp16 on its device


def train_in_fp16(*, scaler: Callable[[], Any], is_scaled: bool = True, factor: float = 1.0) -> Callable[..., None]:
    def train(model, loss_function, optimizer, micro_batches) -> None:
        scaling = scaler()
        for inputs, targets in micro_batches:
            with torch.autocast("cpu", torch.float16):
                loss = factor * loss_function(model(inputs), targets)
            (scaling.scale(loss) if is_scaled else loss).backward()
            if is_scaled:
                scaling.step(optimizer)
                scaling.update()
            else:
                optimizer.step()
            optimizer.zero_grad()

    return train


def judge_device(train: Callable[..., None], seed: int) -> str:
    observation = check_fp16_on_its_device.__wrapped__(train, seed)
    return judge_fp16_on_its_device(decode_observation(encode_observation(observation)), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore:torch.cuda.amp.GradScaler is enabled:UserWarning")
@pytest.mark.filterwarnings("ignore:.*CUDA is not available:UserWarning")
@pytest.mark.skipif(torch.cuda.is_available(), reason="the published scaler is switched off where there is no GPU")
def test_the_published_scaler_is_named(seed: int) -> None:
    assert judge_device(train_in_fp16(scaler=torch.amp.GradScaler), seed) == "scaler_for_another_device"


@pytest.mark.parametrize("seed", SEEDS)
def test_scalers_on_the_cpu(seed: int) -> None:
    def scaler(**arguments: Any) -> Callable[[], Any]:
        return lambda: torch.amp.GradScaler("cpu", **arguments)

    assert judge_device(train_in_fp16(scaler=scaler()), seed) == "passed"
    assert judge_device(train_in_fp16(scaler=scaler(init_scale=2.0**14)), seed) == "passed"
    assert judge_device(train_in_fp16(scaler=scaler(enabled=False)), seed) == "scaler_switched_off"
    assert judge_device(train_in_fp16(scaler=scaler(init_scale=1.0)), seed) == "scale_too_small"
    assert judge_device(train_in_fp16(scaler=scaler(), is_scaled=False), seed) == "loss_not_scaled"
    assert judge_device(train_in_fp16(scaler=scaler(), factor=3.0), seed) == "gradient_scaled"


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 20_011))
def test_the_first_layers_underflow_without_a_scale(seed: int) -> None:
    for case in device_cases(seed):
        model, (inputs, targets) = case.make_model(), case.make_micro_batches()[0]
        with torch.autocast("cpu", torch.float16):
            loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        assert float((model[0].weight.grad == 0).float().mean()) > 0.9


# Within a budget


def update(split: int, weigh: Callable[[int, int], float], **options: Any) -> Callable[..., None]:
    def update_within_budget(model, optimizer, tokens, targets) -> None:
        for rows, wanted in zip(tokens.split(split), targets.split(split), strict=True):
            with torch.autocast("cpu", torch.bfloat16, enabled=bool(options.get("is_autocast"))):
                loss = F.cross_entropy(model(rows).flatten(0, 1), wanted.flatten())
            (loss * weigh(len(rows), len(tokens))).backward()
            if options.get("is_stepped_each_time"):
                optimizer.step()
        if not options.get("is_stepped_each_time"):
            optimizer.step()

    return update_within_budget


def judge_update(function: Callable[..., None], seed: int) -> str:
    observation = check_whole_batch_update.__wrapped__(function, seed)
    return judge_whole_batch_update(decode_observation(encode_observation(observation)), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_updates_of_a_whole_batch(seed: int) -> None:
    def share(rows: int, total: int) -> float:
        return rows / total

    for split in (1, 2, 8):
        assert judge_update(update(split, share), seed) == "passed"
    assert judge_update(update(1, lambda rows, total: 1.0), seed) == "gradient_not_averaged"
    assert judge_update(update(1, lambda rows, total: 1 / total**2), seed) == "gradient_divided_twice"
    assert judge_update(update(1, lambda rows, total: 8.0), seed) == "gradient_scaled"
    assert judge_update(update(1, lambda rows, total: 1 / 4), seed) == "divided_by_another_number"
    assert judge_update(update(2, lambda rows, total: 1 / -(-total // 2)), seed) == "rows_weighed_unequally"
    assert judge_update(update(1, share, is_autocast=True), seed) == "computed_in_16_bit"
    assert judge_update(update(1, share, is_stepped_each_time=True), seed) == "several_updates"


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_one_setting_has_an_odd_batch_and_a_tied_head(seed: int) -> None:
    even, odd = gradient_budget_cases(seed)
    assert (even.rows % 2, odd.rows % 2) == (0, 1)
    assert odd.is_head_tied


def forecast(case: Any, split: int, *, is_checkpointed: bool, dtype: torch.dtype | None = None) -> int:
    """Peak of one update by other recipes, in bytes."""

    def prepare() -> dict[str, Any]:
        model, (tokens, targets) = case.make_model(), case.make_batch()
        optimizer = case.make_optimizer(model)

        def step() -> None:
            for rows, wanted in zip(tokens.split(split), targets.split(split), strict=True):
                with torch.autocast("cpu", dtype, enabled=dtype is not None):
                    states = model.token_embedding(rows) + model.position_embedding(torch.arange(case.time))
                    for block in model.blocks:
                        states = checkpoint(block, states, use_reentrant=False) if is_checkpointed else block(states)
                    logits = model.head(model.final_norm(states))
                    loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten()) * len(rows) / len(tokens)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": (tokens, targets)}

    return budget.forecast_peak_memory(prepare, operators="cpu").peak_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_budget_needs_both_tools_and_no_autocast(seed: int) -> None:
    case = peak_budget_case(seed)
    limit = budget.SHARE * budget._baseline(case, "cpu").peak_bytes
    assert forecast(case, 1, is_checkpointed=True) < 0.85 * limit
    assert forecast(case, 1, is_checkpointed=False) > 2 * limit
    assert forecast(case, case.rows, is_checkpointed=True) > 1.5 * limit
    assert forecast(case, 1, is_checkpointed=False, dtype=torch.bfloat16) > 1.4 * limit
    assert forecast(case, case.rows, is_checkpointed=True, dtype=torch.bfloat16) > 1.2 * limit


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("rows", "events", "code"),
    [
        ((4,), ("forward", "backward"), "nothing_saved"),
        ((4, 4), ("forward", "backward", "recomputed"), "whole_batch_at_once"),
        ((1, 1, 1, 1), ("forward", "backward") * 4, "activations_of_all_blocks_kept"),
        ((2, 2, 2, 2), ("forward", "backward", "recomputed") * 2, "too_many_rows_at_once"),
        ((1,) * 8, ("forward",) * 4 + ("backward", "recomputed") * 4, "graphs_kept"),
        ((1,) * 8, ("forward", "backward", "recomputed") * 4, "tensors_kept"),
    ],
)
def test_a_peak_over_the_budget_is_explained(rows: tuple[int, ...], events: tuple[str, ...], code: str, seed: int):
    baseline = budget._baseline(peak_budget_case(seed), "cpu")
    claim = {"peak_bytes": baseline.peak_bytes, "above_entry_bytes": baseline.above_entry_bytes, "device": "cpu"}
    facts = {"claims": [claim], "block_rows": list(rows) * 2, "events": list(events) * 2}
    assert judge_peak(facts, seed).code == code


def judge_peak(facts: dict[str, Any], seed: int, function: Callable[..., None] | None = None) -> Verdict:
    """Judge a claim that comes with an update, by default the plain one."""
    plain = update(4, lambda rows, total: rows / total)
    settings, tensors = observe_budget_update(function or plain, peak_budget_case(seed), "0")
    observation = Observation({"settings": [settings], "peak_weight_formats": ["float32"], **facts}, tensors)
    return judge_update_peak(decode_observation(encode_observation(observation)), seed)


def within_budget(seed: int) -> dict[str, Any]:
    needed = budget._needed_bytes(peak_budget_case(seed))
    claim = {"peak_bytes": needed + 6 * 2**20, "above_entry_bytes": 6 * 2**20, "device": "cpu"}
    return {"claims": [claim], "block_rows": [1] * 8, "events": []}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_peak_counts_only_for_the_update_that_is_asked_for(seed: int) -> None:
    assert judge_peak(within_budget(seed), seed).is_passed
    wrong = judge_peak(within_budget(seed), seed, lambda *_: None)
    assert (wrong.code, wrong.measured) == ("peak_of_another_update", "no update")
    not_averaged = update(1, lambda rows, total: 1.0)
    assert judge_peak(within_budget(seed), seed, not_averaged).code == "peak_of_another_update"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_in_16_bit_is_named_and_not_refused(seed: int) -> None:
    def halved(model, optimizer, tokens, targets) -> None:
        update(1, lambda rows, total: rows / total)(model.half(), optimizer, tokens, targets)

    assert judge_update(halved, seed) == "weights_converted"
    assert judge_peak(within_budget(seed) | {"peak_weight_formats": ["float16"]}, seed).code == "weights_converted"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimizer_of_the_update_is_the_given_one(seed: int) -> None:
    def with_another(model, optimizer, tokens, targets) -> None:
        own = torch.optim.SGD(model.parameters(), lr=0.1)
        update(1, lambda rows, total: rows / total)(model, own, tokens, targets)

    assert judge_update(with_another, seed) == "another_optimizer"


def test_a_peak_below_the_model_is_refused() -> None:
    facts = within_budget(0)
    facts["claims"][0]["peak_bytes"] = budget._needed_bytes(peak_budget_case(0))
    with pytest.raises(ValueError, match="at entry"):
        judge_peak(facts, 0)
