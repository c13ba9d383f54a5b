from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.meters.weight_distance import measure_weight_distance


def make_model(value: float) -> nn.Module:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)
    return model


def test_equal_models_are_at_zero_and_an_untrained_one_at_one():
    start, reference = make_model(1.0), make_model(1.5)
    assert measure_weight_distance(make_model(1.5), reference, start) == 0
    assert measure_weight_distance(start, reference, start) == 1


def test_the_distance_is_relative_to_the_movement_not_to_the_weights():
    distance = measure_weight_distance(make_model(100.3), make_model(100.1), make_model(100.0))
    assert distance == pytest.approx(2, rel=1e-3)


def test_buffers_do_not_count():
    start, reference, model = make_model(1.0), make_model(2.0), make_model(2.0)
    model[1].running_mean.fill_(7.0)
    assert measure_weight_distance(model, reference, start) == 0


def test_a_reference_that_has_not_moved_is_refused():
    with pytest.raises(ValueError, match="train the reference first"):
        measure_weight_distance(make_model(2.0), make_model(1.0), make_model(1.0))


def test_models_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="same parameters"):
        measure_weight_distance(nn.Linear(1, 2), make_model(2.0), make_model(1.0))
