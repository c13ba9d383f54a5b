import subprocess
import sys

import torch
from torch import nn

from grader.testbed.chain import make_chain


def test_chain_repeats_linear_gelu_linear():
    chain = make_chain(blocks=3, width=8, hidden=16)
    assert [type(layer) for layer in chain] == 3 * [nn.Linear, nn.GELU, nn.Linear]
    assert chain(torch.zeros(5, 8)).shape == (5, 8)


def test_default_chain_is_the_survey_chain():
    per_block = 256 * 1024 + 1024 + 1024 * 256 + 256
    assert sum(parameter.numel() for parameter in make_chain().parameters()) == 16 * per_block


def test_seed_alone_decides_the_weights():
    first, again, other = make_chain(1, seed=3), make_chain(1, seed=3), make_chain(1, seed=4)
    assert torch.equal(first[0].weight, again[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)


def test_global_random_state_is_left_alone():
    before = torch.get_rng_state()
    make_chain(1)
    assert torch.equal(before, torch.get_rng_state())


def test_chain_needs_torch_alone():
    script = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('transformers', 'datasets', 'tokenizers')))\n"  # importing one now raises
        "from grader.testbed.chain import make_chain\n"
        "from grader.testbed.transformer import make_transformer\n"
        "from grader.testbed.batches import make_token_batch\n"
        "make_chain(1), make_transformer(), make_token_batch(2, 3, 5, seed=0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
