"""Training jobs whose memory the meters are tried on: each a function of a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import transformers
from torch import nn
from torch.utils.checkpoint import checkpoint

MODES = ("plain", "checkpointing", "accumulation", "autocast")


@dataclass
class Job:
    """A model with its optimizer, and the micro-batches of one update."""

    model: nn.Module
    loss_of: Callable[[nn.Module, torch.Tensor], torch.Tensor]
    batch: torch.Tensor
    mode: str = "plain"

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.AdamW(self.model.parameters(), foreach=False)

    def step(self, after_micro_batch: Callable[[], None] = lambda: None) -> None:
        micro_batches = self.batch.chunk(2) if self.mode == "accumulation" else (self.batch,)
        for micro_batch in micro_batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=self.mode == "autocast"):
                loss = self.loss_of(self.model, micro_batch) / len(micro_batches)
            loss.backward()
            after_micro_batch()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Stack(nn.Module):
    """Blocks in a row, each recomputed in backward if asked for."""

    def __init__(self, blocks: list[nn.Module], is_checkpointed: bool):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.is_checkpointed = is_checkpointed

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            states = checkpoint(block, states, use_reentrant=False) if self.is_checkpointed else block(states)
        return states


class TiedLanguageModel(nn.Module):
    """An embedding, encoder layers with dropout, and a head that shares the embedding's weight."""

    def __init__(self, is_checkpointed: bool):
        super().__init__()
        self.embedding = nn.Embedding(200, 32)
        layers = [nn.TransformerEncoderLayer(32, 4, 64, dropout=0.2, batch_first=True) for _ in range(2)]
        self.stack = Stack(layers, is_checkpointed)
        self.head = nn.Linear(32, 200, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.stack(self.embedding(tokens)))


def block(width: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


def mean_square(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return model(batch).float().square().mean()


def chain(mode: str, seed: int = 0, *, blocks: int = 4, width: int = 64, hidden: int = 256, batch: int = 128) -> Job:
    torch.manual_seed(seed)
    model = Stack([block(width, hidden) for _ in range(blocks)], mode == "checkpointing")
    return Job(model, mean_square, torch.randn(batch, width), mode)


def encoder(mode: str, seed: int = 0) -> Job:
    torch.manual_seed(seed)
    layers = [nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(3)]
    return Job(Stack(layers, mode == "checkpointing"), mean_square, torch.randn(8, 16, 64), mode)


def tied_weights_and_dropout(mode: str, seed: int = 0) -> Job:
    torch.manual_seed(seed)

    def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())

    return Job(TiedLanguageModel(mode == "checkpointing"), loss_of, torch.randint(200, (8, 16)), mode)


def classification_loss(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    return model(input_ids=tokens, labels=tokens[:, 0] % 2).loss


def hugging_face(build: Callable[[], nn.Module], mode: str, seed: int = 0, *, batch: tuple[int, int] = (4, 64)) -> Job:
    torch.manual_seed(seed)
    model = build().train()
    if mode == "checkpointing":
        enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
    return Job(model, classification_loss, torch.randint(300, batch), mode)


def build_distilbert() -> nn.Module:
    return transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(vocab_size=28996))


def build_narrow_distilbert() -> nn.Module:
    config = transformers.DistilBertConfig(vocab_size=300, dim=96, hidden_dim=384, n_heads=4, n_layers=3)
    return transformers.DistilBertForSequenceClassification(config)


def build_two_layer_bert() -> nn.Module:
    config = transformers.BertConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256
    )
    return transformers.BertForSequenceClassification(config)


JOBS: dict[str, Callable[..., Job]] = {
    "chain": chain,
    "encoder": encoder,
    "distilbert": partial(hugging_face, build_narrow_distilbert),
    "bert": partial(hugging_face, build_two_layer_bert),
    "tied_weights_and_dropout": tied_weights_and_dropout,
}
