"""Judges a run in fp8 with Accelerate: what was asked of it, which layers ran in fp8, and where the weights end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from grader.judging.forms import judge_own_form
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.fp8_training.forms import Fp8FormCase, fp8_form_cases
from grader.observation import Observation
from grader.observing.recording import flat_weights
from grader.testbed.extras import import_train_extra
from grader.verdict import PASSED, Verdict

TOLERANCE = 0.15  # equal to the bit on a CPU; float32 sums in another order round to other bf16 and fp8 numbers
FP8 = "Float8Linear"


def is_in_fp8(name: str) -> bool:
    """Return whether a linear layer is to be in fp8: those of the encoder, except the first."""
    return "encoder" in name and "layer.0.attention.self.query" not in name


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        record: What was recorded.
        case: The setting.
    """

    record: Mapping[str, Any]
    case: Fp8FormCase

    @property
    def in_fp8(self) -> set[str]:
        """The linear layers that were in fp8."""
        return {name for name, kind in self.record["kinds"].items() if kind == FP8}

    @property
    def wanted(self) -> set[str]:
        """The linear layers that are to be in fp8."""
        return {name for name in self.record["kinds"] if is_in_fp8(name)}

    @property
    def wrong(self) -> str:
        """The layers that ran in another format than they should, in words."""
        kept, taken = sorted(self.wanted - self.in_fp8), sorted(self.in_fp8 - self.wanted)
        found = {"left out": kept, "too many": taken}
        listed = {word: ", ".join(names[:2] + ["..."] * (len(names) > 2)) for word, names in found.items() if names}
        return "".join(f"; {word}: {names}" for word, names in listed.items())

    @property
    def wanted_rows(self) -> list[int]:
        """The rows of each batch that is asked for."""
        return [self.case.rows] * (self.case.updates - 1) + [self.case.rows - 1]

    @property
    def precisions(self) -> set[str]:
        """The precisions of the Accelerators that ran a backward; "fp8" where the device had it lowered to fp16."""
        found = {accelerator["precision"] for accelerator in self.record["precision"]["accelerators"]}
        return {"fp8" if one == "fp16" and self.record["is_lowered"] else one for one in found}


def judge_fp8_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge how Accelerate was used, which layers were converted, then the weights."""
    cases, records = fp8_form_cases(seed), observation.facts["records"]
    for case, record in zip(cases, records, strict=True):
        run = Run(record, case)
        own = judge_own_form(record, record["calls"], is_in_trainer=False) if record["forward_rows"] else None
        verdict = own or USED.judge(
            run,
            f"{len(run.wanted)} layers of the encoder in fp8, by an Accelerator of that precision",
            ", ".join([f"{len(run.in_fp8)} layers in fp8", *(f"precision {one}" for one in run.precisions)])
            + run.wrong,
        )
        if verdict:
            return verdict
    values = [observation.tensors[str(index)] for index in range(len(cases))]
    answer = PAIRS.answer(seed, values)
    if answer.is_right or all(map(_is_right_as_lowered, cases, records, values)):
        layers = [len(Run(record, case).in_fp8) for case, record in zip(cases, records, strict=True)]
        return Verdict(PASSED, "", f"{len(layers)} runs, with {' and '.join(map(str, layers))} layers in fp8")
    distance, moved = (float(torch.linalg.vector_norm(one)) for one in (answer.value - answer.truth, answer.truth))
    expected, measured = f"weights that move by {moved:.4g}", f"weights {distance / moved:.0%} of that away"
    ratio = float(answer.value @ answer.truth) / moved**2
    return TRAINED.judge(Run(records[answer.wrong[0]], answer.case), expected, measured) or PAIRS.explain(
        answer,
        expected=expected,
        measured=measured,
        otherwise=f"Your batches, updates and optimizer are right, but the weights move {ratio:.3g} times as far along "
        "the right direction. Look at what scales, clips, clears or replaces the loss or its gradients.",
    )


def _is_right_as_lowered(case: Fp8FormCase, record: Mapping[str, Any], movement: Tensor) -> bool:
    """Return whether weights are right on a device for which Accelerate lowers fp8 to fp16, with a loss scaler."""
    return bool(record["is_lowered"]) and is_near(movement, lowered_movement(case))


def lowered_movement(case: Fp8FormCase) -> Tensor:
    """Return how the weights move in fp16, with a loss scaler that skips an update whose gradients overflow."""
    model, scaler = case.make_model(), torch.amp.GradScaler("cpu")
    start = flat_weights(model).clone()
    _convert(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=case.learning_rate)
    for batch in DataLoader(case.make_dataset(), batch_size=case.rows):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = model(**batch).loss
        torch.autograd.backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()
    return flat_weights(model) - start


def _convert(model: nn.Module) -> None:
    """Put the right layers of a model into torchao's emulated fp8."""
    for name in ("torchao", "torch.utils._pytree"):  # it reports GPU kernels that cannot be loaded
        logging.getLogger(name).setLevel(logging.ERROR)
    float8 = import_train_extra("torchao.float8")
    config = float8.Float8LinearConfig(emulate=True)
    float8.convert_to_float8_training(model, config=config, module_filter_fn=lambda _, name: is_in_fp8(name))


def train_pairs(model: Any, dataset: Any, rows: int, learning_rate: float) -> None:
    """Train for one epoch in a raw loop, in bf16 with emulated fp8 layers."""
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()


def _run(function: Callable[..., Any], case: Fp8FormCase) -> Tensor:
    model = case.make_model()
    start = flat_weights(model).clone()
    _convert(model)
    function(model, case.make_dataset(), case.rows, case.learning_rate)
    return flat_weights(model) - start


def is_near(answer: Any, value: Any) -> bool:
    """Return whether two movements of weights agree in norm."""
    difference = torch.linalg.vector_norm(answer.double() - value.double())
    return bool(difference <= TOLERANCE * torch.linalg.vector_norm(value.double()))


USED = Table[Run](
    Misconception(
        "other_model_trained",
        "You never run the model that is handed in. Train this model, not a copy, in a loop with Accelerate.",
        shown_by=lambda run: not run.record["forward_rows"],
    ),
    Misconception(
        "accelerate_not_used",
        "You train without `accelerator.backward`. Prepare model, optimizer and loader, and call it.",
        shown_by=lambda run: not run.record["calls"]["backward"],
    ),
    Misconception(
        "not_prepared",
        "You leave model, optimizer or loader out of prepare. The model is converted there.",
        measured="prepared: {record[calls][prepared]}",
        shown_by=lambda run: bool({"model", "optimizer", "loader"} - set(run.record["calls"]["prepared"])),
    ),
    Misconception(
        "fp8_not_asked_for",
        "You do not ask Accelerate for the precision fp8, with which it converts layers in prepare.",
        shown_by=lambda run: not run.in_fp8 and run.precisions in ({"bf16"}, {"no"}),
    ),
    Misconception(
        "converted_by_hand",
        "You convert the model yourself. Let prepare do it: mixed_precision fp8, and the recipe as a kwargs handler.",
        shown_by=lambda run: (
            run.record["is_converted_before"] or (bool(run.precisions) and "fp8" not in run.precisions)
        ),  # no precision is recorded where the first layer was converted
    ),
    Misconception(
        "nothing_converted",
        "You ask for fp8, and your filter returns False for every layer of this model (blocks in its encoder: "
        "{case.layers}). It returns whether a layer is converted.",
        shown_by=lambda run: not run.in_fp8,
    ),
    Misconception(
        "filter_reversed",
        "Your filter converts what should stay, and leaves what should be converted.",
        shown_by=lambda run: not run.in_fp8 & run.wanted,
    ),
    Misconception(
        "everything_converted",
        "You convert every linear layer. A filter of your own replaces Accelerate's: the first layer and all behind "
        "the encoder stay.",
        shown_by=lambda run: run.in_fp8 == set(run.record["kinds"]),
    ),
    Misconception(
        "left_to_the_default_filter",
        "You convert the pooler, too. Accelerate does so without a filter; with one, yours has to leave it out.",
        shown_by=lambda run: run.in_fp8 - run.wanted == {"bert.pooler.dense"},
    ),
    Misconception(
        "first_layer_converted",
        "You convert the first linear layer. Your filter replaces Accelerate's, which would leave it: leave it "
        "yourself.",
        shown_by=lambda run: run.in_fp8 - run.wanted == {"bert.encoder.layer.0.attention.self.query"},
    ),
    Misconception(
        "first_of_each_block_left",
        "You leave a layer of every block. Only the first linear layer of the model stays.",
        shown_by=lambda run: (
            {name for name in run.wanted - run.in_fp8} != set()
            and all("query" in name for name in run.wanted - run.in_fp8)
        ),
    ),
    Misconception(
        "other_layers",
        "You convert other layers than asked for: those of the encoder, except the model's first linear layer. Print "
        "the names that your filter is asked about.",
        shown_by=lambda run: run.in_fp8 != run.wanted,
    ),
    Misconception(
        "not_emulated",
        "You emulate where the hardware has fp8 products, or do not where it has none. Set emulate by `has_fp8`.",
        shown_by=lambda run: run.record["has_fp8"] in run.record["emulated"],
    ),
)
TRAINED = Table[Run](
    Misconception(
        "last_batch_left_out",
        "You make no update with the last batch, which has fewer rows.",
        shown_by=lambda run: (
            run.record["forward_rows"] == run.wanted_rows[:-1]
            or (run.record["forward_rows"] == run.wanted_rows and run.record["events"][-1] != "update")
        ),
    ),
    Misconception(
        "other_batches",
        "You run other batches than one epoch in steps of `rows`. Compare the rows of each forward.",
        expected="forwards on {wanted_rows} rows",
        measured="on {record[forward_rows]}",
        shown_by=lambda run: run.record["forward_rows"] != run.wanted_rows,
    ),
    Misconception(
        "rows_in_another_order",
        "You train on the rows in another order. Leave shuffle at its default, False, and the dataset as it is.",
        shown_by=lambda run: not run.record["is_in_order"],
    ),
    Misconception(
        "other_updates",
        "You do not make one update for each batch. Look at where `optimizer.step` is.",
        expected="{case.updates} updates",
        measured="{record[update_count]}",
        shown_by=lambda run: run.record["update_count"] != run.case.updates,
    ),
    Misconception(
        "another_optimizer",
        "You do not train all parameters with plain SGD at `learning_rate`, in every update.",
        expected="torch.SGD with lr {case.learning_rate}",
        measured="{record[optimizers]}",
        shown_by=lambda run: run.record["optimizers"] != [f"torch.SGD with lr {run.case.learning_rate:g}"],
    ),
)
PAIRS = ReferenceTable(
    train_pairs,
    Misconception(
        "gradients_never_cleared",
        "You never clear the gradients, so each batch adds to those before it.",
        {"        optimizer.zero_grad()\n": ""},
    ),
    run=_run,
    cases=fp8_form_cases,
    is_near=is_near,
)
