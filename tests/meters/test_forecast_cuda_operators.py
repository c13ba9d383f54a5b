import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from grader.meters.cuda_autocast import FLOAT32_RESULT, LOWER_PRECISION, WIDEST_INPUT
from grader.meters.cuda_operators import substitute_cuda_operators
from grader.meters.forecast import forecast_peak_memory
from grader.meters.forecast_mode import ForecastMode

MIB = 2**20
BATCH, HEADS, TIME, HEAD_WIDTH = 2, 4, 512, 64


def forward_and_backward(make_loss, *shape):
    """Return a `prepare` whose step differentiates a loss of one tensor."""

    def prepare():
        states = torch.randn(*shape, requires_grad=True)

        def step():
            make_loss(states).backward()
            states.grad = None

        return {"step": step, "inputs": states}

    return prepare


def operators_of(forecast):
    return {(sample.phase, sample.operator) for sample in forecast.timeline}


@pytest.mark.parametrize(
    "dropout",
    [
        lambda states: F.dropout(states, 0.1),
        lambda states: torch.dropout(states, 0.1, True),
        lambda states: nn.Dropout(0.1)(states),
    ],
)
def test_dropout_keeps_one_byte_an_element(dropout):
    with substitute_cuda_operators(), ForecastMode():
        dropped = dropout(torch.ones(1024, requires_grad=True))
        mask = dropped.grad_fn._saved_result1
        assert mask.untyped_storage().nbytes() == 1024


def test_dropout_of_probability_zero_or_in_evaluation_allocates_nothing():
    with substitute_cuda_operators(), ForecastMode():
        states = torch.ones(8)
        assert F.dropout(states, 0.0).untyped_storage()._cdata == states.untyped_storage()._cdata
        assert F.dropout(states, 0.5, training=False).untyped_storage()._cdata == states.untyped_storage()._cdata


def test_recomputed_forward_runs_the_substitutes():
    def loss_of(states):
        return checkpoint(lambda kept: F.dropout(kept, 0.1).exp(), states, use_reentrant=False).sum()

    forecast = forecast_peak_memory(forward_and_backward(loss_of, 512, 512))
    assert ("backward", "aten.native_dropout.default") in operators_of(forecast)
    assert not any("bernoulli" in operator for _, operator in operators_of(forecast))


def attention(mask=None, dtype=None, **settings):
    def loss_of(states):
        query, key, value = states.unbind(0)
        visible = torch.ones(TIME, TIME, dtype=torch.bool) if mask else None
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            attended = F.scaled_dot_product_attention(query, key, value, visible, dropout_p=0.1, **settings)
        return attended.float().sum()

    return forward_and_backward(loss_of, 3, BATCH, HEADS, TIME, HEAD_WIDTH)


@pytest.mark.parametrize(
    ("settings", "kernel"),
    [
        ({}, "efficient"),
        ({"mask": True}, "efficient"),
        ({"dtype": torch.float16}, "flash"),
        ({"dtype": torch.bfloat16, "is_causal": True}, "flash"),
        ({"dtype": torch.float16, "mask": True}, "efficient"),
    ],
)
def test_attention_keeps_no_score_matrix(settings, kernel):
    scores_bytes = BATCH * HEADS * TIME * TIME * (2 if "dtype" in settings else 4)
    forecast = forecast_peak_memory(attention(**settings))
    assert ("forward", f"aten._scaled_dot_product_{kernel}_attention.default") in operators_of(forecast)
    assert forecast.above_entry_bytes < forecast_peak_memory(attention(**settings), operators="cpu").above_entry_bytes
    assert forecast.activation_bytes < scores_bytes


def test_attention_switched_to_the_plain_product_keeps_the_score_matrix():
    def prepare():
        job = attention()()

        def step():
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                job["step"]()

        return {**job, "step": step}

    assert forecast_peak_memory(prepare).activation_bytes > BATCH * HEADS * TIME * TIME * 4


def test_optimizers_handle_all_parameters_at_once_by_default():
    def prepare():
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
        optimizer = torch.optim.AdamW(model.parameters())

        def step():
            model(torch.ones(1, 64)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer}

    on_cpu, on_cuda = (forecast_peak_memory(prepare, operators=name) for name in ("cpu", "cuda"))
    assert any("_foreach_" in operator for _, operator in operators_of(on_cuda))
    assert on_cuda.peak_bytes - on_cpu.peak_bytes > 0.7 * on_cuda.parameter_bytes  # the loop's own is 1/8


def test_softmax_to_float32_makes_no_copy_of_its_input():
    with substitute_cuda_operators(), ForecastMode(), torch.autocast("cpu", torch.float16):
        scores = torch.ones(64, 64, dtype=torch.float16, requires_grad=True)
        weights = scores.softmax(-1)
    assert weights.dtype == torch.float32
    assert weights.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


# Calls of operators on a [8, 8] matrix in float16 and the same in float32.
CALLS = {
    "matmul": lambda half, full: half @ full,
    "linear": lambda half, full: F.linear(full, full),
    "einsum": lambda half, full: torch.einsum("ij,jk->ik", full, full),
    "softmax": lambda half, full: F.softmax(half, -1),
    "softmax_to_float64": lambda half, full: F.softmax(half, -1, dtype=torch.float64),
    "log_softmax": lambda half, full: half.log_softmax(-1),
    "layer_norm": lambda half, full: F.layer_norm(half, (8,)),
    "cross_entropy": lambda half, full: F.cross_entropy(half, torch.zeros(8, dtype=torch.long, device=half.device)),
    "mse_loss": lambda half, full: F.mse_loss(half, half),
    "sum": lambda half, full: half.sum(),
    "sum_dim": lambda half, full: half.sum(0, keepdim=True),
    "cumsum": lambda half, full: half.cumsum(0),
    "norm": lambda half, full: torch.linalg.vector_norm(half),
    "exp": lambda half, full: half.exp(),
    "pow": lambda half, full: half**2,
    "gelu": lambda half, full: F.gelu(half),
    "add": lambda half, full: half + half,
    "stack": lambda half, full: torch.stack([half, half]),
    "cat": lambda half, full: torch.cat([half, full]),
    "addcmul_half": lambda half, full: torch.addcmul(half, half, half),
    "addcmul_mixed": lambda half, full: torch.addcmul(half, half, full),
    "pad": lambda half, full: F.pad(half.unsqueeze(0), (1, 1), mode="reflect"),
    "float64": lambda half, full: full.double().exp(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_casts_as_pytorchs_own_rules_for_cuda_do(name, dtype):
    def result_dtype(device):
        half = torch.ones(8, 8, dtype=dtype, device=device)
        return CALLS[name](half, half.float()).dtype

    with FakeTensorMode(), torch.no_grad():  # gradients of CUDA tensors need a build for CUDA
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", dtype)
        try:
            expected = result_dtype("cuda")
        finally:
            torch.set_autocast_enabled("cuda", False)
            torch.set_autocast_dtype("cuda", torch.float16)
    with substitute_cuda_operators(), ForecastMode(), torch.no_grad(), torch.autocast("cpu", dtype):
        assert result_dtype("cpu") == expected


def test_every_rule_is_of_an_operator_that_cuda_lists():
    listed = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    packets = {name.removeprefix("aten::").partition(".")[0] for name in listed}
    assert packets >= LOWER_PRECISION | WIDEST_INPUT | FLOAT32_RESULT


def run_on_real_tensors():
    states = torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        weights = F.softmax(states @ states, -1)
    query = torch.ones(1, 1, 8, 8)
    return [
        F.dropout(states, 0.1).grad_fn.name(),
        weights.dtype,
        F.scaled_dot_product_attention(query, query, query).shape,
    ]


def test_operators_are_as_before_afterwards():
    before = run_on_real_tensors()
    with pytest.raises(ZeroDivisionError), substitute_cuda_operators():
        raise ZeroDivisionError
    assert run_on_real_tensors() == before
    with substitute_cuda_operators(), substitute_cuda_operators():
        pass
    assert run_on_real_tensors() == before
