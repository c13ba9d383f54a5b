"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.testbed.pretrained import make_pair_classifier as make_pair_classifier
from grader.testbed.sentence_pairs import make_sentence_pairs as make_sentence_pairs
from grader.testbed.tokenizer import make_tokenizer as make_tokenizer
from grader.testbed.tokenizer import tokenize_pairs as tokenize_pairs
from transformers.trainer import Trainer as Trainer
from transformers.training_args import TrainingArguments as TrainingArguments
import torch as torch
import torch.distributed as dist
same_run = {'optim': 'sgd', 'weight_decay': 0.0, 'lr_scheduler_type': 'constant', 'max_grad_norm': 0.0, 'train_sampling_strategy': 'sequential', 'num_train_epochs': 1, 'report_to': 'none', 'save_strategy': 'no', 'logging_strategy': 'no', 'disable_tqdm': True, 'output_dir': 'trainer_output', 'dataloader_pin_memory': False, 'use_cpu': True}


def run_form(rank, train, k):
    """Return the weights and the seconds of 48 pairs, 16 for an update; the second of two runs counts."""
    import time

    dataset = tokenize_pairs(make_sentence_pairs(pairs=48), make_tokenizer())
    for _ in range(2):
        model, started = make_pair_classifier(), time.perf_counter()
        train(model, dataset, 16, k, 0.1)
        seconds = time.perf_counter() - started
    return torch.nn.utils.parameters_to_vector(model.parameters()), seconds


def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    """Train on this rank with the Trainer, equal to train_raw.

    Args:
        model: Returns an output with .loss for rows of the data set.
        dataset: Rows as the model takes them, labels included; the same on every rank.
        batch: Rows of one update on all ranks together.
        k: Micro-batches of a rank for one update.
        learning_rate: Of SGD, constant.
    """
    ### BEGIN SOLUTION
    model.accepts_loss_kwargs = False
    rows = batch // (dist.get_world_size() * k)
    own = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**same_run, **own), train_dataset=dataset).train()
    ### END SOLUTION


train = train_ranks_with_trainer
