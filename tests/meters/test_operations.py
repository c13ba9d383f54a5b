import torch
import torch.nn.functional as F

from grader.meters.operations import count_operations


def test_a_product_and_its_two_gradients_count_as_three():
    left, right = torch.randn(4, 5, requires_grad=True), torch.randn(5, 6, requires_grad=True)
    assert count_operations(lambda: (left @ right).sum().backward()).flops == 3 * 2 * 4 * 5 * 6


def test_attention_counts_on_a_cpu_too():
    query, key, value = (torch.randn(1, 2, 8, 4) for _ in range(3))
    attention = count_operations(lambda: F.scaled_dot_product_attention(query, key, value))
    products = count_operations(lambda: (query @ key.mT).softmax(dim=-1) @ value)
    assert attention.flops == products.flops == 2 * 2 * 2 * 8 * 8 * 4
    assert attention.operators < products.operators


def test_the_chunked_loss_counts_as_the_plain_one_does():
    hidden, weight = torch.randn(32, 8, requires_grad=True), torch.randn(64, 8, requires_grad=True)
    targets, options = torch.randint(0, 64, (32,)), torch.nn.LinearCrossEntropyOptions()
    chunked = count_operations(lambda: F.linear_cross_entropy(hidden, weight, targets, options=options).backward())
    plain = count_operations(lambda: F.cross_entropy(hidden @ weight.T, targets).backward())
    assert chunked.flops == plain.flops == 3 * 2 * 32 * 8 * 64


def test_a_loop_runs_more_operators_for_the_same_flops():
    rows, weight = torch.randn(4, 3), torch.randn(3, 2)
    whole, looped = (
        count_operations(lambda: rows @ weight),
        count_operations(lambda: [row[None] @ weight for row in rows]),
    )
    assert (whole.flops, whole.operators) == (looped.flops, 1)
    assert looped.operators >= 4
    assert repr(whole) == "4.8e-08 GFLOPs in 1 operators"
