"""Compares a measured vector with its reference, and finds the factor between them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Two float32 computations of one gradient in another order differ by about 1e-6 of its norm; on CUDA by up to 1e-5.
RELATIVE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """How a vector relates to its reference.

    Attributes:
        relative_error: Norm of the difference over the norm of the reference.
        factor: The number that brings the reference closest to the vector.
        residual: Norm of what that factor does not explain, over the norm of the vector.
    """

    relative_error: float
    factor: float
    residual: float

    @property
    def is_equal(self) -> bool:
        """Whether vector and reference agree."""
        return self.relative_error <= RELATIVE_TOLERANCE

    def is_multiple(self, factor: float) -> bool:
        """Whether the vector is the reference times `factor`."""
        return self.residual <= RELATIVE_TOLERANCE and abs(self.factor - factor) <= 1e-3 * abs(factor)


def compare(measured: Tensor, reference: Tensor) -> Comparison:
    """Compare two vectors of one length.

    Raises:
        ValueError: if their lengths differ.
    """
    if measured.shape != reference.shape:
        raise ValueError(f"cannot compare {tuple(measured.shape)} with {tuple(reference.shape)}")
    seen, wanted = measured.double(), reference.double()
    factor = float(seen @ wanted / (wanted @ wanted))
    norm = float(torch.linalg.vector_norm(seen))
    residual = float(torch.linalg.vector_norm(seen - factor * wanted)) / norm if norm else 0.0
    error = float(torch.linalg.vector_norm(seen - wanted) / torch.linalg.vector_norm(wanted))
    return Comparison(error, factor, residual)
