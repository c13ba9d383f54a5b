"""Hidden states, a vocabulary and targets for a loss that never holds all logits."""

from __future__ import annotations

import contextlib
import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from grader.observing.contract import fail, require_tensor


@dataclass(frozen=True)
class ChunkCase:
    """One loss.

    Attributes:
        rows: Rows of the hidden states.
        width: Numbers of a row.
        vocabulary: Rows of the weight.
        chunk_rows: Rows of a chunk.
        ignored: First row and row after the last one whose targets are ignored.
        scale: Factor of the hidden states: how large logits become.
        factor: What the loss is multiplied by before backward.
        seed: Seed of the draw.
    """

    rows: int
    width: int
    vocabulary: int
    chunk_rows: int
    ignored: tuple[int, int]
    scale: float
    factor: float
    seed: int

    def draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Draw hidden states [rows, width], the weight [vocabulary, width] and targets [rows]."""
        generator = torch.Generator().manual_seed(self.seed)
        hidden = self.scale * torch.randn(self.rows, self.width, generator=generator, dtype=torch.float64)
        weight = torch.randn(self.vocabulary, self.width, generator=generator, dtype=torch.float64)
        targets = torch.randint(0, self.vocabulary, (self.rows,), generator=generator)
        targets[slice(*self.ignored)] = -100
        targets[-1] = 0  # a class like all others
        return hidden.requires_grad_(), weight.requires_grad_(), targets


def chunk_cases(seed: int) -> tuple[ChunkCase, ...]:
    """Equal chunks; ignored targets and a short last chunk; a chunk that is ignored whole; one chunk for all rows."""
    draw = random.Random(seed)
    width, vocabulary = draw.randrange(5, 9), draw.randrange(20, 40)
    rows = draw.randrange(5, 8)
    return (
        ChunkCase(12, 6, 30, 4, (0, 0), 1.0, 1.0, seed),
        ChunkCase(3 * rows + 2, width, vocabulary, rows, (rows - 1, rows + 2), 1.0, draw.choice((0.25, 3.0)), seed + 1),
        ChunkCase(4 * rows - 1, width, vocabulary, rows, (rows, 2 * rows + 1), 1.0, 0.5, seed + 2),
        ChunkCase(rows, width, vocabulary, rows + 9, (0, 1), 300.0, 2.0, seed + 3),
    )


def run_chunked(chunked: Callable[..., Any], case: ChunkCase) -> dict[str, Any]:
    """Run forward and backward; return the loss and both gradients."""
    hidden, weight, targets = case.draw()
    with name_refused_gradients():
        loss = chunked(hidden, weight, targets, case.chunk_rows)
    _require_like(loss, "the loss", hidden, shape=())
    if not loss.requires_grad:
        look_at = "You return a loss without a graph, from which backward() cannot start. Return what `apply` returns."
        fail("no_graph_returned", "a loss that backward() can start from", "a loss that needs no gradient", look_at)
    with name_refused_gradients():
        torch.autograd.backward(loss * case.factor)
    gradients = {"hidden": hidden.grad, "weight": weight.grad}
    value: dict[str, Any] = {"loss": float(loss.detach())}
    for name, like in (("hidden", hidden), ("weight", weight)):
        gradient = gradients[name]
        gradient = torch.zeros_like(like) if gradient is None else gradient
        _require_like(gradient, f"the gradient of {name}", like)
        value[name] = gradient
    return value


def _require_like(value: Any, what: str, like: Tensor, shape: tuple[int, ...] | None = None) -> None:
    """Fail unless `value` is a tensor that resembles `like`; NaN and infinity are the judge's to explain."""
    value = value.detach().nan_to_num() if isinstance(value, Tensor) else value
    require_tensor(value, what, shape=shape, like=like.detach())


@contextlib.contextmanager
def name_refused_gradients() -> Iterator[None]:
    """Fail the check by name where PyTorch refuses a format, or autograd what `backward` returned."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        _explain_gradients(error)
        raise


def _explain_gradients(error: RuntimeError | IndexError) -> None:
    text, expected = str(error), "gradients in the shapes of hidden and weight, and None twice"
    if "dtype" in text:
        look_at = "You convert numbers on the way, to float32 for example. Compute in the format of `hidden`."
        fail("format_changed", "products and sums in the format of hidden", text.splitlines()[0], look_at)
    if "index -100" in text:
        look_at = (
            "You use the target of an ignored row as an index. It is no class: replace it, and give the row zeros."
        )
        fail("ignored_target_as_index", "an index between 0 and the vocabulary", text.splitlines()[0], look_at)
    if "incorrect number of gradients" in text:
        look_at = (
            "You return too few or too many values. `backward` returns one for each argument of `apply`, in order."
        )
        fail("number_of_gradients", expected, text.splitlines()[0], look_at)
    if "invalid gradient" in text:
        look_at = (
            "You return a gradient of another shape. Ignored rows keep a gradient, of zeros, and a gradient is not "
            "transposed."
        )
        fail("gradient_of_another_shape", expected, text.splitlines()[0], look_at)


@dataclass(frozen=True)
class ChunkPeakCase:
    """A loss whose logits are larger than all else.

    Attributes:
        rows: Rows of the hidden states.
        width: Numbers of a row.
        vocabulary: Rows of the weight.
        chunk_rows: Rows of a chunk.
        seed: Seed of the draw.
    """

    rows: int
    width: int
    vocabulary: int
    chunk_rows: int
    seed: int

    def make_head(self) -> nn.Linear:
        """Build the layer that makes logits, without a bias."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return nn.Linear(self.width, self.vocabulary, bias=False)

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw hidden states [rows, width] and targets [rows]."""
        generator = torch.Generator().manual_seed(self.seed)
        hidden = torch.randn(self.rows, self.width, generator=generator)
        targets = torch.randint(0, self.vocabulary, (self.rows,), generator=generator)
        return hidden.requires_grad_(), targets


def chunk_peak_case(seed: int) -> ChunkPeakCase:
    """Sixteen chunks; all logits take 16 MiB or more."""
    draw = random.Random(seed)
    rows = 32 * draw.randrange(16, 20)
    return ChunkPeakCase(rows, 32, 8_192, rows // 16, seed)


def chunk_rows_case(seed: int) -> ChunkPeakCase:
    """Forty chunks and a short one, of rows that are longer than wide: neither count nor size is that of the peak."""
    chunk_rows = random.Random(seed).randrange(6, 9)
    return ChunkPeakCase(40 * chunk_rows + 3, 4, 500, chunk_rows, seed)


class RowsAtOnce(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the most rows of a tensor that has a number for each of them and each token, while it is entered."""

    def __init__(self, vocabulary: int):
        super().__init__()  # type: ignore[no-untyped-call]
        self._vocabulary = vocabulary
        self.rows = 0

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operator(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and self._vocabulary in tensor.shape:
                self.rows = max(self.rows, tensor.numel() // self._vocabulary)
        return result


class _Packed:
    """A tensor that a graph keeps; it goes when the graph does."""

    def __init__(self, tensor: Tensor):
        self.tensor = tensor


def count_kept_bytes(forward: Callable[[], Tensor], parameters: Sequence[Tensor]) -> int:
    """Return the bytes that the graph of a loss keeps once forward has returned, without the parameters.

    Unlike `measure_saved_tensors`, this leaves out what graphs inside of the function kept and freed.
    """
    packed: list[weakref.ref[_Packed]] = []

    def pack(tensor: Tensor) -> _Packed:
        one = _Packed(tensor)
        packed.append(weakref.ref(one))
        return one

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one.tensor):
        loss = forward()
    kept = [one.tensor.untyped_storage() for one in (reference() for reference in packed) if one is not None]
    storages = {storage.data_ptr(): storage.nbytes() for storage in kept}
    for parameter in parameters:
        storages.pop(parameter.untyped_storage().data_ptr(), None)
    del loss
    return sum(storages.values())


@contextlib.contextmanager
def refuse_fused_loss() -> Iterator[None]:
    """Fail the check when the block calls PyTorch's own fused loss."""
    library: Any = F
    kept = library.linear_cross_entropy
    library.linear_cross_entropy = _refuse
    try:
        yield
    finally:
        library.linear_cross_entropy = kept


def _refuse(*_: Any, **__: Any) -> None:
    fail(
        "library_loss_used",
        "a loss of your own",
        "a call of torch.nn.functional.linear_cross_entropy",
        "You call the library's fused loss. Write its forward and backward pass, chunk by chunk.",
    )
