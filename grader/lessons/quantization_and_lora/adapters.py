"""Linear layers that get a low-rank adapter, and what is recorded of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.device import lesson_device
from grader.observing.contract import fail


@dataclass(frozen=True)
class AdapterCase:
    """A layer, its adapter, and inputs.

    Attributes:
        inputs: Features of its inputs.
        outputs: Features of its outputs.
        has_bias: Whether it has a bias.
        rank: Of the adapter.
        alpha: Of the adapter.
        rows: Shape of the inputs without their features.
        is_training: Whether it runs in train mode.
        seed: Seed of all numbers.
    """

    inputs: int
    outputs: int
    has_bias: bool
    rank: int
    alpha: float
    rows: tuple[int, ...]
    is_training: bool
    seed: int

    def make_layer(self) -> nn.Linear:
        """Build the layer, as training left it: its parameters need gradients."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return nn.Linear(self.inputs, self.outputs, bias=self.has_bias)

    def draw(self) -> dict[str, Tensor]:
        """Draw inputs, the gradient of the outputs, and both factors as a trained adapter has them."""
        draw = torch.Generator().manual_seed(self.seed + 1)
        return {
            "inputs": torch.randn(*self.rows, self.inputs, generator=draw),
            "direction": torch.randn(*self.rows, self.outputs, generator=draw),
            "A": torch.randn(self.rank, self.inputs, generator=draw) / self.inputs**0.5,
            "B": torch.randn(self.outputs, self.rank, generator=draw),
        }


def adapter_cases(seed: int) -> tuple[AdapterCase, ...]:
    """A layer with a bias, one without that reads three dimensions in eval mode, and one whose adapter has rank 1."""
    draw = random.Random(seed)
    return (
        AdapterCase(24, 18, True, 4, 8.0, (5,), True, seed),
        AdapterCase(16, draw.randrange(20, 30), False, 3, draw.choice((1.0, 16.0)), (2, 3), False, seed + 1),
        AdapterCase(draw.randrange(12, 15), 17, True, 1, draw.choice((2.0, 5.0)), (7,), True, seed + 2),
    )


class _DenseRecord(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes tensors in the shape of a matrix that are made while it is on."""

    def __init__(self, shape: tuple[int, int], known: list[Tensor]):
        super().__init__()  # type: ignore[no-untyped-call]
        self.shapes = {shape, shape[::-1]}
        self.known = {tensor.untyped_storage().data_ptr() for tensor in known}
        self.is_seen = False

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        result = function(*arguments, **(keywords or {}))
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and tuple(leaf.shape) in self.shapes]
        self.is_seen |= any(leaf.untyped_storage().data_ptr() not in self.known for leaf in made)
        return result


def run_adapter(add_lora: Callable[..., Any], case: AdapterCase) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Add an adapter; return facts of its start, and tensors of a forward and backward with given factors."""
    device = lesson_device()
    layer, drawn = case.make_layer().to(device), {name: value.to(device) for name, value in case.draw().items()}
    kept = {name: value.clone() for name, value in layer.state_dict().items()}
    with torch.no_grad():
        wanted = layer(drawn["inputs"])
    weight = layer.weight
    another, _ = _require_factors(add_lora(case.make_layer().to(device), case.rank, case.alpha), case)
    adapted = add_lora(layer, case.rank, case.alpha)
    first, second = _require_factors(adapted, case)
    adapted.train(case.is_training)
    with torch.no_grad():
        start = _require_outputs(adapted(drawn["inputs"]), wanted)
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    facts: dict[str, Any] = {
        "distance_at_start": float((start - wanted).abs().max()),
        "is_start_zero": not bool(start.any()),
        "is_first_zero": not bool(first.any()),
        "is_second_zero": not bool(second.any()),
        "is_first_repeated": torch.equal(first, another),
        "rank_of_first": int(torch.linalg.matrix_rank(first.detach().double().cpu())),
        "trained": sorted(int(parameter.numel()) for parameter in trained),
        "is_base_trained": any(torch.equal(parameter, value) for parameter in trained for value in kept.values()),
        "are_factors_trained": first.requires_grad and second.requires_grad,
    }
    with torch.no_grad():
        first.copy_(drawn["A"])
        second.copy_(drawn["B"])
    inputs = drawn["inputs"].clone().requires_grad_()
    with _DenseRecord((case.outputs, case.inputs), [weight, *adapted.parameters()]) as dense:
        outputs = adapted(inputs)
    outputs.backward(drawn["direction"])
    with torch.no_grad():
        repeated = adapted(drawn["inputs"])
    merged = adapted.merged()
    with torch.no_grad():
        again = adapted(drawn["inputs"])
    facts |= {
        "is_dense": dense.is_seen,
        "has_base_gradient": weight.grad is not None,
        "is_base_changed": not all(torch.equal(value, layer.state_dict()[name]) for name, value in kept.items()),
        "is_random": not torch.allclose(repeated, outputs, rtol=1e-5, atol=1e-6),
        "is_changed_by_merge": not torch.allclose(again, repeated, rtol=1e-5, atol=1e-6),
        "is_unfrozen_by_merge": sum(value.requires_grad for value in adapted.parameters()) > len(trained),
        "merged": type(merged).__name__,
        "is_merged_the_base": getattr(merged, "weight", None) is weight,
    }
    return facts, {
        "outputs": outputs.detach(),
        **{f"gradient of {name}": _gradient(value) for name, value in (("A", first), ("B", second), ("x", inputs))},
        "merged": _merged_output(merged, drawn["inputs"]),
    }


def _gradient(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad


def _require_outputs(outputs: Any, wanted: Tensor) -> Tensor:
    """Fail unless outputs have the shape of the base's."""
    if not isinstance(outputs, Tensor) or outputs.shape != wanted.shape:
        measured = f"shape {list(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        look_at = "You return outputs of another shape than the base. Keep every dimension of the inputs but the last."
        fail("output_shape", f"outputs of shape {list(wanted.shape)}", measured, look_at)
    return outputs


@torch.no_grad()
def _merged_output(merged: Any, inputs: Tensor) -> Tensor:
    if not isinstance(merged, nn.Linear):
        look_at = "Your merged() returns something other than nn.Linear. Put the sum into a layer like the base."
        fail("merged_not_linear", "an nn.Linear", type(merged).__name__, look_at)
    output: Tensor = merged(inputs)
    return output


def _require_factors(adapted: Any, case: AdapterCase) -> tuple[nn.Parameter, nn.Parameter]:
    """Fail unless a module has both factors as parameters in their shapes, and a method `merged`."""
    if not isinstance(adapted, nn.Module):
        fail(
            "no_module", "an nn.Module", type(adapted).__name__, "You return no module. Look at your return statement."
        )
    shapes = {"A": (case.rank, case.inputs), "B": (case.outputs, case.rank)}
    factors = []
    for name, shape in shapes.items():
        factor, expected = getattr(adapted, name, None), f"{name}, a parameter of shape {list(shape)}"
        if not isinstance(factor, nn.Parameter):
            measured = f"{name} of type {type(factor).__name__}"
            fail("factor_no_parameter", expected, measured, "You keep a factor that is no nn.Parameter named A or B.")
        if tuple(factor.shape) != shape:
            look_at = "Your factor has another shape. A maps inputs to `rank` numbers, and B these to the outputs."
            fail("factor_shape", expected, f"{name} of shape {list(factor.shape)}", look_at)
        factors.append(factor)
    merged = getattr(adapted, "merged", None)
    if not callable(merged) or isinstance(merged, nn.Module):
        look_at = "Your module has no method merged(). Write it in the class, without @property."
        fail("no_merged", "a method merged()", f"merged of type {type(merged).__name__}", look_at)
    return factors[0], factors[1]
