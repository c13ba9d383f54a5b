"""Judges saved tensors that go to far memory: the gradients, which tensors go, and the peak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.equivalence import Comparison, compare
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.offloading.saved import SavedCase, SavedPeakCase, saved_cases, saved_peak_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

SHARE = 0.45  # of the plain peak; the solution has less than a third
ROUNDED = 0.02  # bfloat16 rounds to 1 in 256
EQUAL = "the loss and the gradients of a plain run"

Sent = list[list[Any]]


@dataclass(frozen=True)
class SavedTensor:
    """A tensor that autograd saves.

    Attributes:
        shape: Its shape.
        dtype: Its number format.
        tensor_bytes: Its bytes.
        storage_bytes: Bytes of the storage that it is a view of.
        elements: Its numbers.
        is_own: Whether its storage is a parameter's.
        is_parameter: Whether it is a parameter itself, of the model or not.
        is_view: Whether it is a view of another tensor.
        is_offset: Whether it begins later than its storage.
        has_own_shape: Whether some parameter has its shape, perhaps transposed.
        is_trained: Whether its storage is that of a parameter that needs a gradient.
        is_leaf: Whether it is a leaf of the graph.
        is_float: Whether it holds floating-point numbers.
        is_repeated: Whether it was saved before.
        needs_gradient: Whether it needs a gradient.
    """

    shape: tuple[int, ...]
    dtype: str
    tensor_bytes: int
    storage_bytes: int
    elements: int
    is_own: bool
    is_parameter: bool
    is_view: bool
    is_offset: bool
    has_own_shape: bool
    is_trained: bool
    is_leaf: bool
    is_float: bool
    is_repeated: bool
    needs_gradient: bool


@dataclass(frozen=True)
class Setting:
    """One run under the learner's hooks, and a plain one."""

    facts: Mapping[str, Any]
    loss: Tensor
    gradient: Tensor
    plain_loss: Tensor
    plain_gradient: Tensor

    @property
    def comparison(self) -> Comparison:
        """The gradient against that of the plain run."""
        return compare(self.gradient, self.plain_gradient)


def goes_far(saved: SavedTensor, threshold: int) -> bool:
    """Return whether a saved tensor is sent."""
    return saved.tensor_bytes >= threshold and not saved.is_own


def judge_offloaded_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge loss and gradients of every setting."""
    for index, (case, facts) in enumerate(zip(saved_cases(seed), observation.facts["settings"], strict=True)):
        loss, gradient = (observation.tensors[f"{index}.{name}"] for name in ("loss", "gradient"))
        setting = Setting(facts, loss, gradient, *_plain(case))
        verdict = GRADIENTS.judge(setting, EQUAL, "")
        if verdict:
            return verdict
        if not setting.comparison.is_equal:
            look_at = "You hand other numbers back to backward than were saved. Compare what unpack returns."
            error = f"gradients off by {setting.comparison.relative_error:.2g} of their size"
            return Verdict("other_gradients", EQUAL, error, look_at)
    return Verdict(PASSED, EQUAL, f"{len(observation.facts['settings'])} settings with the gradients of a plain run")


def judge_offloaded_tensors(observation: Observation, seed: int) -> Verdict:
    """Judge which tensors were sent, and that what was sent came back."""
    settings = observation.facts["settings"]
    answer = TABLE.answer(seed, [sorted(setting["sent"]) for setting in settings])
    if not answer.is_right:
        case, index = answer.case, answer.wrong[0]
        wanted, sent = answer.truth, answer.value
        expected = f"{len(wanted)} tensors sent in setting {index + 1}, threshold {case.threshold_bytes} bytes"
        counts = [Counter((elements, dtype) for elements, dtype in some) for some in (sent, wanted)]
        extra, missing = sorted(counts[0] - counts[1]), sorted(counts[1] - counts[0])
        about = "".join(
            f"; {some[0][0]} numbers in {some[0][1]} are {kind}"
            for some, kind in ((extra, "not to be sent"), (missing, "not sent"))
            if some
        )
        if [elements for elements, _ in wanted] == [elements for elements, _ in sent]:
            look_at = "You convert what you send. Another dtype costs more bytes, or bits: send each tensor in its own."
            return Verdict("sent_in_another_dtype", expected, f"the same sizes{about}", look_at)
        otherwise = _describe(case, extra, missing)
        return TABLE.explain(
            answer, answer.only(index), expected=expected, measured=f"{len(sent)} sent{about}", otherwise=otherwise
        )
    for setting in settings:
        if setting["held_bytes"] < setting["sent_bytes"]:
            look_at = "You let go of far tensors before backward, so another copy serves it. Return them from pack."
            held = f"{setting['held_bytes']:,} of {setting['sent_bytes']:,} bytes"
            return Verdict("not_kept_far", "all that is sent held in far memory until backward", held, look_at)
        if not setting["fetched_bytes"]:
            look_at = "You send tensors and never fetch one. Return far.get(...) from unpack."
            return Verdict("never_fetched", "what is sent fetched in backward", "0 bytes fetched", look_at)
    return Verdict(PASSED, "", f"{sum(len(setting['sent']) for setting in settings)} tensors sent, and no other")


def _describe(case: SavedCase, extra: Sequence[tuple[int, str]], missing: Sequence[tuple[int, str]]) -> str:
    """Say what the first tensor is that was sent by mistake, or else the first that was kept."""
    is_sent = bool(extra)
    alike = [one for one in _saved(case) if (one.elements, one.dtype) == (extra or missing)[0]]
    if not alike or (is_sent and missing and not any(one.is_own for one in alike)):
        return "You send something else than autograd saved, a storage or a copy perhaps. Send what pack receives."
    wrong = [one for one in alike if goes_far(one, case.threshold_bytes) != is_sent]
    one = (wrong or alike)[0]
    if is_sent and one.is_own:
        return (
            f"You send a tensor of shape {one.shape} that belongs to a parameter. Compare its storage with that of "
            "every parameter, in whichever module."
        )
    if is_sent and wrong:
        return f"You send {one.tensor_bytes} bytes of shape {one.shape}, below the threshold. Look at what you compare."
    if is_sent:
        return f"You send a tensor of shape {one.shape} more often than autograd saves it. Look for a second `put`."
    return (
        f"You keep a tensor of shape {one.shape} and {one.tensor_bytes} bytes that belongs to no parameter. Look at "
        "why your condition leaves it out, or whether your hooks see it: also what the loss saves is sent."
    )


def judge_offloaded_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against a plain run's."""
    case = saved_peak_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    code, look_at = (
        "device_copy_kept",
        "You keep on the device what you sent, or what you fetched. Look for lists, dictionaries and closures that "
        "hold tensors.",
    )
    if not observation.facts["sent"]:
        code, look_at = "nothing_sent", "You send nothing, so all saved tensors stay. Look at the condition in pack."
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    verdict = judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)
    for moment, kept in observation.facts["kept"].items():
        if verdict.is_passed and kept:
            expected = f"nothing on the device {moment} of what was sent, or fetched and used"
            look_at = "You keep the tensors that you sent or fetched last. Look for what still refers to them."
            return Verdict("last_copies_kept", expected, format_bytes(kept), look_at)
    return verdict


@keep_cases
def _plain(case: SavedCase) -> tuple[Tensor, Tensor]:
    model = case.make()
    with torch.random.fork_rng(devices=[]):
        loss = case.run(model)
        torch.autograd.backward(loss)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return loss.detach(), torch.cat([gradient.flatten() for gradient in gradients])


@keep_cases
def _saved(case: SavedCase) -> Sequence[SavedTensor]:
    """Run the case and describe each tensor that autograd saves, in order."""
    model = case.make()
    owners = {parameter.untyped_storage().data_ptr(): parameter for parameter in model.parameters()}
    shapes = {shape for one in model.parameters() for shape in (one.shape, one.shape[::-1])}
    found: list[SavedTensor] = []
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        owner = owners.get(tensor.untyped_storage().data_ptr())
        described = SavedTensor(
            tuple(tensor.shape),
            str(tensor.dtype).removeprefix("torch."),
            tensor.nbytes,
            tensor.untyped_storage().nbytes(),
            tensor.numel(),
            owner is not None,
            isinstance(tensor, nn.Parameter),
            tensor._is_view(),
            tensor.storage_offset() > 0,
            tensor.shape in shapes,
            owner is not None and owner.requires_grad,
            tensor.is_leaf,
            tensor.is_floating_point(),
            any(one.data_ptr() == tensor.data_ptr() and one.shape == tensor.shape for one in kept),
            tensor.requires_grad,
        )
        kept.append(tensor.detach())
        found.append(described)
        return tensor

    with torch.random.fork_rng(devices=[]), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        case.run(model)
    return tuple(found)


def _run(goes_far: Callable[[SavedTensor, int], bool], case: SavedCase) -> Sent:
    return sorted([one.elements, one.dtype] for one in _saved(case) if goes_far(one, case.threshold_bytes))


@keep_cases
def _needed_bytes(case: SavedPeakCase) -> int:
    """Return what model and input hold before anything runs."""
    return distinct_storage_bytes([*case.make_model().parameters(), case.make_inputs()])


@keep_cases
def _baseline(case: SavedPeakCase, operators: str) -> PeakMemory:
    """Forecast the plain blocks."""

    def prepare() -> dict[str, object]:
        model, inputs = case.make_model(), torch.zeros(case.batch, case.width)

        def step() -> None:
            model.zero_grad()
            torch.autograd.backward(model(inputs).square().mean())

        return {"step": step, "model": model, "inputs": inputs}

    return forecast_peak_memory(prepare, operators=operators)


GRADIENTS: Table[Setting] = Table(
    Misconception(
        "no_graph",
        "You run forward without a graph, so nothing is saved. no_grad has no place around a forward that is trained.",
        shown_by=lambda seen: not seen.facts["needs_gradient"],
        measured="a loss without a graph",
    ),
    Misconception(
        "gradients_missing",
        "You leave parameters without a gradient. Look for a detach or requires_grad_ on the way.",
        shown_by=lambda seen: bool(seen.facts["missing"]),
        measured="{facts[missing]} parameters without a gradient",
    ),
    Misconception(
        "other_loss",
        "You change what forward computes. Hooks hand tensors on and may not write to them.",
        shown_by=lambda seen: not torch.allclose(seen.loss, seen.plain_loss, rtol=1e-5),
        measured="another loss",
    ),
    Misconception(
        "gradient_not_finite",
        "You hand NaN or infinity back to backward. Look for memory that nothing was written to.",
        shown_by=lambda seen: not bool(seen.gradient.isfinite().all()),
        measured="NaN or infinity in the gradients",
    ),
    Misconception(
        "sent_in_fewer_bits",
        "You round what you send to fewer bits. Send each tensor in its own dtype.",
        shown_by=lambda seen: not seen.comparison.is_equal and seen.comparison.relative_error < ROUNDED,
        measured="gradients that differ by rounding to fewer bits",
    ),
    Misconception(
        "far_tensor_shared",
        "You fetch one far tensor for several saved ones. What was sent is freed, and its address serves the next "
        "tensor: send each time that autograd saves.",
        shown_by=lambda seen: not seen.comparison.is_equal and seen.facts["fetched_bytes"] > seen.facts["sent_bytes"],
        measured="{facts[sent_bytes]} bytes sent, {facts[fetched_bytes]} fetched, and other gradients",
    ),
)

SIZE, OWN = "saved.tensor_bytes >= threshold", "not saved.is_own"
TABLE = ReferenceTable(
    goes_far,
    Misconception(
        "nothing_offloaded",
        "You send nothing to `far`, whatever moves elsewhere. Return far.put(tensor) from pack for each tensor that is "
        "large enough.",
        {SIZE: "False"},
    ),
    Misconception(
        "parameters_offloaded",
        "You send parameters, too. They stay on the device anyway: what pack receives of them only costs transfers.",
        {OWN: "True"},
    ),
    Misconception(
        "views_of_parameters_offloaded",
        "You recognise a parameter, but not a view of one: Linear saves its weight transposed. Compare storages.",
        {OWN: "not saved.is_parameter"},
        variants=[{OWN: "not (saved.is_own and saved.is_parameter)"}],
    ),
    Misconception(
        "slices_of_parameters_offloaded",
        "You recognise a whole parameter, but not a slice of one, as of a fused weight. Its address, shape and numbers "
        "are others, its storage is the same.",
        {OWN: "not (saved.is_own and not saved.is_offset)"},
    ),
    Misconception(
        "other_parameters_kept",
        "You keep leaves that need a gradient, whoever owns them. Only parameters of `model` stay: an input and a "
        "parameter of the loss are sent.",
        {OWN: "not saved.is_own and not (saved.is_leaf and saved.needs_gradient)"},
        variants=[{OWN: "not saved.is_own and not saved.is_parameter"}],
    ),
    Misconception(
        "parameter_shapes_kept",
        "You recognise parameters by their shape. An activation can have the same: compare storages.",
        {OWN: "not saved.has_own_shape"},
        variants=[{OWN: "not saved.is_own and not saved.has_own_shape"}],
    ),
    Misconception(
        "views_kept",
        "You leave out what is a view, or not contiguous. It is saved and has bytes, so it is sent.",
        {OWN: "not saved.is_own and not saved.is_view"},
        variants=[{OWN: "not saved.is_own and saved.storage_bytes == saved.tensor_bytes"}],
    ),
    Misconception(
        "frozen_parameters_offloaded",
        "You keep only parameters that need a gradient. A frozen one is on the device as well.",
        {OWN: "not saved.is_trained"},
    ),
    Misconception(
        "threshold_in_elements",
        "You compare numbers with a threshold in bytes. Count the bytes of the tensor.",
        {SIZE: "saved.elements >= threshold"},
        variants=[{SIZE: "saved.elements >= threshold", OWN: "True"}, {SIZE: "saved.elements > threshold"}],
    ),
    Misconception(
        "four_bytes_assumed",
        "You take 4 bytes for every number. Tokens have 8 and masks have 1.",
        {SIZE: "4 * saved.elements >= threshold"},
    ),
    Misconception(
        "storage_compared",
        "You compare the bytes of the storage. A view of a large tensor is small, and only the view is sent.",
        {SIZE: "saved.storage_bytes >= threshold"},
    ),
    Misconception(
        "threshold_itself_kept",
        "You keep a tensor of exactly the threshold's bytes. It goes, too.",
        {SIZE: "saved.tensor_bytes > threshold"},
    ),
    Misconception(
        "small_ones_offloaded",
        "You send the small tensors and keep the large ones. Turn the comparison round.",
        {SIZE: "saved.tensor_bytes < threshold"},
        variants=[{SIZE: "saved.tensor_bytes <= threshold"}],
    ),
    Misconception(
        "threshold_ignored",
        "You send every tensor, however small. Below the threshold it stays.",
        {SIZE: "True"},
        variants=[{SIZE: "True", OWN: "True"}],
    ),
    Misconception(
        "leaves_kept",
        "You keep every leaf as if it were a parameter. Inputs and masks are leaves, and a transposed weight is none.",
        {OWN: "not saved.is_leaf"},
        variants=[{OWN: "not saved.is_own and not saved.is_leaf"}],
    ),
    Misconception(
        "integers_kept",
        "You send floating-point tensors only. Tokens and masks are saved as well, and have bytes.",
        {OWN: "not saved.is_own and saved.is_float"},
    ),
    Misconception(
        "without_gradient_kept",
        "You send only tensors that need a gradient. Inputs and masks need none, and backward holds them all the same.",
        {OWN: "not saved.is_own and saved.needs_gradient"},
    ),
    Misconception(
        "repeats_not_sent",
        "You send a tensor once that autograd saves twice. The contract asks for each time that `pack` is called.",
        {OWN: "not saved.is_own and not saved.is_repeated"},
    ),
    hard_coded(saved_cases),
    run=_run,
    cases=saved_cases,
)
