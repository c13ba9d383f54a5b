import torch
from torch import nn

from grader.meters.saved_tensors import measure_saved_tensors

BATCH, WIDTH, HIDDEN = 16, 32, 128


def saved_by(activation, batch):
    block = nn.Sequential(nn.Linear(WIDTH, HIDDEN), activation, nn.Linear(HIDDEN, WIDTH))
    return measure_saved_tensors(lambda: block(batch))


def test_a_tensor_that_two_operations_keep_counts_once():
    batch = torch.randn(BATCH, WIDTH)
    gelu, relu = saved_by(nn.GELU(), batch), saved_by(nn.ReLU(), batch)
    assert gelu.total_bytes == 4 * BATCH * (WIDTH + 2 * HIDDEN)
    assert relu.total_bytes == 4 * BATCH * (WIDTH + HIDDEN)
    assert [(row.shape, row.dtype) for row in relu.rows] == [((BATCH, WIDTH), "float32"), ((BATCH, HIDDEN), "float32")]


def test_parameters_and_their_transposes_do_not_count():
    layer = nn.Linear(WIDTH, HIDDEN)
    batch = torch.randn(BATCH, WIDTH, requires_grad=True)  # its gradient needs the weight
    assert measure_saved_tensors(lambda: layer(batch)).total_bytes == 4 * BATCH * WIDTH


def test_weights_cast_by_autocast_count_as_they_are_copies():
    layer = nn.Linear(WIDTH, HIDDEN)

    def forward():
        with torch.autocast("cpu", torch.bfloat16):
            return layer(torch.randn(BATCH, WIDTH).requires_grad_())

    assert measure_saved_tensors(forward).total_bytes == 2 * (BATCH * WIDTH + WIDTH * HIDDEN)


def test_storages_freed_and_taken_again_count_each():
    layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(5))
    assert len(measure_saved_tensors(lambda: [layer(torch.randn(BATCH, WIDTH)) for layer in layers]).rows) == 5


def test_nothing_is_saved_without_gradients():
    layer = nn.Linear(WIDTH, HIDDEN)
    with torch.no_grad():
        assert measure_saved_tensors(lambda: layer(torch.randn(BATCH, WIDTH))).total_bytes == 0


def test_repr_gives_total_and_shapes():
    text = repr(saved_by(nn.ReLU(), torch.randn(1024, WIDTH)))
    assert text.splitlines()[0] == "Saved for backward: 0.6 MiB in 2 storages"
    assert "[1024, 128]" in text.splitlines()[1]
    assert "0.5 MiB each" in text.splitlines()[1]
