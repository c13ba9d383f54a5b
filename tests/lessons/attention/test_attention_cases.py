from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader import CheckFailed, check_tiled_gradients, check_tiled_memory, measure_saved_tensors
from grader.judging.lessons.attention.merging import merge_tile
from grader.judging.lessons.attention.saved import saved_bytes
from grader.judging.lessons.attention.tiled import attend
from grader.lessons.attention.cache import cache_cases
from grader.lessons.attention.forms import forms_cases, long_rows_case
from grader.lessons.attention.impostors import NARROWEST, WIDEST, ImpostorCase, impostor_cases
from grader.lessons.attention.merging import merge_cases, run_merges
from grader.lessons.attention.saved import saved_cases
from grader.lessons.attention.tiled import memory_case, tiled_cases


def eager(query, key, value):
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(dim=-1) @ value


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_formula_is_what_the_kernels_of_a_cpu_save(dtype):
    shape = (2, 3, 128, 32)
    inputs = [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]
    for is_fused, attention in ((False, eager), (True, F.scaled_dot_product_attention)):
        saved = measure_saved_tensors(lambda attention=attention: attention(*inputs))
        assert saved.total_bytes == saved_bytes(is_fused, *shape, dtype.itemsize)


@pytest.mark.parametrize("seed", range(10))
def test_one_shape_has_16_bits_and_one_has_fewer_positions_than_features(seed):
    cases = saved_cases(seed)
    assert {case.number_bytes for case in cases} == {2, 4}
    assert any(case.time < case.head_dim for case in cases)


@pytest.mark.parametrize("seed", range(5))
def test_merged_tiles_are_the_softmax_of_all_scores(seed):
    for case in merge_cases(seed):
        tiles = case.draw()
        scores, value = torch.cat([s for s, _ in tiles], -1), torch.cat([v for _, v in tiles], -2)
        merged = run_merges(merge_tile, case)
        torch.testing.assert_close(merged["mixed"] / merged["total"][..., None], scores.softmax(-1) @ value)
        torch.testing.assert_close(merged["highest"] + merged["total"].log(), scores.logsumexp(-1))


@pytest.mark.parametrize("seed", range(5))
def test_the_tiled_reference_is_that_of_autograd(seed):
    for case in tiled_cases(seed):
        *drawn, arriving = case.draw()
        inputs = [tensor.detach().requires_grad_() for tensor in drawn]
        output = F.scaled_dot_product_attention(*inputs, is_causal=case.is_causal)
        right = [output, *torch.autograd.grad(output, inputs, arriving)]
        for own, wanted in zip(attend(*drawn, arriving, case.is_causal, case.tile), right, strict=True):
            torch.testing.assert_close(own, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_tiles_are_short_at_the_end_and_masks_are_both(seed):
    cases = tiled_cases(seed)
    assert {case.is_causal for case in cases} == {True, False}
    assert any(case.time % case.tile and case.is_causal and case.time > case.tile for case in cases)
    assert memory_case(seed).time % memory_case(seed).tile
    assert all(case.time > 2 * case.tile for case in cases if case.is_transposed)


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_the_forms_are_not_those_of_the_notebook(seed):
    shown, other = forms_cases(seed)
    assert other.rows != shown.rows and other.pairs % other.rows
    assert len(long_rows_case(seed).make_batches()) == 2


def test_an_impostor_without_a_fault_is_exact_and_keeps_no_matrix():
    inputs = [torch.randn(1, 2, 64, 8, requires_grad=True) for _ in range(3)]
    for is_causal in (False, True):
        output = ImpostorCase().make_attention()(*inputs, is_causal)
        torch.testing.assert_close(output, F.scaled_dot_product_attention(*inputs, is_causal=is_causal))
    saved = measure_saved_tensors(lambda: ImpostorCase().make_attention()(*inputs, False))
    assert saved.total_bytes == 3 * 2 * 64 * 8 * 4


@pytest.mark.parametrize("seed", range(10))
def test_every_fault_is_there_alone_and_with_others(seed):
    cases = impostor_cases(seed)
    assert ImpostorCase() in cases
    windows = {case.window for case in cases}
    assert {NARROWEST, WIDEST} <= windows and max(windows) == WIDEST
    assert any(case.copies and case.is_recomputed for case in cases)


@pytest.mark.parametrize("seed", range(10))
def test_caches_have_local_layers_and_a_short_sequence(seed):
    cases = cache_cases(seed)
    assert all(case.layers % case.global_every == 0 and case.heads % case.key_heads == 0 for case in cases)
    assert cases[1].time > cases[1].window > cases[2].window - 300 and cases[2].time < cases[2].window
    assert cases[1].time % cases[1].window


@pytest.mark.parametrize("backend", [None, SDPBackend.MATH])
def test_the_fused_operator_is_refused_wherever_it_is_called_from(backend):
    def tiled_attention(query, key, value, is_causal, tile):
        chosen = nullcontext() if backend is None else sdpa_kernel(backend)
        with torch._C.DisableTorchFunction(), chosen:
            return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    with pytest.raises(CheckFailed) as failed:
        check_tiled_gradients(tiled_attention)
    assert failed.value.code == "library_attention_used"


def test_bytes_of_another_computation_do_not_count():
    def tiled_attention(query, key, value, is_causal, tile):
        return query * key + value

    with pytest.raises(CheckFailed) as failed:
        check_tiled_memory(tiled_attention)
    assert failed.value.code == "budget_of_another_attention"
