"""Fake tensors for forecasts: the shapes and lifetimes of a real run, without values and without memory.

PyTorch's `FakeTensorMode` derives each result from the operator and the shapes that go in. A training step repeats the
same few hundred operators on the same shapes thousands of times, so this mode remembers what was derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)

from grader.meters.forecast_recipes import FakeResult, Recipe, add_to_key, is_determined_by_shapes, recipe_of

_DEVICE_OF = torch.ops.prim.device.default
_READ_VALUE = torch.ops.aten._local_scalar_dense.default

KEEP_TO_SHAPES = (
    "Write it with fixed shapes, for example torch.where in place of a boolean index, or measure the step with "
    "measure_peak_memory."
)
CUDA_AUTOCAST = (
    "the step uses torch.autocast('cuda'), and the tensors of a forecast are on the CPU. Write "
    "torch.autocast('cpu', dtype=...); operators='cuda' then applies CUDA's rules."
)


class ForecastError(ValueError):
    """A step that cannot be forecast; the message names the obstacle and the remedy."""


class ForecastMode(FakeTensorMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__
    """A `FakeTensorMode` that answers what a training step asks of values, and names what it cannot answer.

    A value read by `.item()` is 0 unless it is a known constant: a `GradScaler` then sees no infinity.
    """

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=False)
        self._recipes: dict[tuple[object, ...], Recipe | None] = {}
        self._is_determined: dict[object, bool] = {}
        self._attributes: dict[torch.device, dict[str, Any]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out the guard against torch.compile around every operator; compiled steps are refused before."""
        return False

    def __torch_dispatch__(  # type: ignore[override]
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the operator's results as fake tensors."""
        if func is _DEVICE_OF:
            return args[0].fake_device
        kwargs = kwargs or {}
        tensors: list[FakeTensor] = []
        key = self._key(func, args, kwargs, tensors)
        recipe = self._recipes.get(key) if key else None
        if recipe is not None:
            results = [None if part is None else self._make(part, tensors) for part in recipe.parts]
            return results[0] if recipe.container is None else recipe.container(results)
        result = self._derive(func, types, args, kwargs)
        if key and key not in self._recipes:
            self._recipes[key] = recipe_of(result, tensors)
        return result

    def _derive(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Let PyTorch derive the results, constants included; answer the reading of any other value with zero."""
        if torch.is_autocast_enabled("cuda"):
            raise ForecastError(CUDA_AUTOCAST)
        try:
            return self.dispatch(func, types, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            if func is _READ_VALUE:
                return torch.zeros((), dtype=args[0].dtype).item()
            raise ForecastError(
                f"the step calls {func}, whose result depends on the values of a tensor, and a forecast has no values. "
                f"{KEEP_TO_SHAPES}"
            ) from error
        except UnsupportedOperatorException as error:
            raise ForecastError(
                f"PyTorch cannot tell the shapes that {func} returns without running it. Use another operator, or "
                "measure the step with measure_peak_memory."
            ) from error

    def _key(
        self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], tensors: list[FakeTensor]
    ) -> tuple[object, ...] | None:
        """Return all that the results depend on, or None for a call that must be derived each time."""
        is_determined = self._is_determined.get(func)
        if is_determined is None:
            is_determined = self._is_determined[func] = is_determined_by_shapes(func)
        if not is_determined:
            return None
        parts: list[object] = [func, torch.is_inference_mode_enabled(), torch.get_default_dtype()]
        if not add_to_key(parts, args, tensors, self) or not add_to_key(parts, kwargs.items(), tensors, self):
            return None
        key = tuple(parts)
        try:
            hash(key)
        except TypeError:  # an argument such as a generator's state
            return None
        return key if tensors else None

    def _make(self, part: FakeResult, tensors: list[FakeTensor]) -> torch.Tensor:
        """Make one result. PyTorch's constructor would take longer than all else that is done for an operator."""
        if part.is_argument:
            assert part.source is not None
            return tensors[part.source]
        if part.source is None:
            memory = torch.empty_strided(part.shape, part.stride, dtype=part.dtype, device="meta")
        else:
            memory = torch.empty(0, dtype=part.dtype, device="meta")
            memory.set_(tensors[part.source].untyped_storage(), part.storage_offset, part.shape, part.stride)
        if part.device not in self._attributes:
            example = FakeTensor(self, torch.empty(0, device="meta"), part.device)
            self._attributes[part.device] = dict(example.__dict__)
        made = torch.Tensor._make_subclass(
            FakeTensor, memory, False, dispatch_device=True, device_for_backend_keys=part.device
        )
        torch._C._set_throw_on_mutable_data_ptr(made)
        made.__dict__.update(self._attributes[part.device])
        return made
