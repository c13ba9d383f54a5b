# Right answers to train_with_a_library.

# %% answer="trainer"
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch", "learning_rate": learning_rate}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="accelerate_accumulates"
def train_with_a_library(model, batches, learning_rate):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device.type == "cpu", gradient_accumulation_steps=len(batches[0]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            with accelerator.accumulate(model):
                states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
                loss = F.linear_cross_entropy(states, model.head.weight, targets, options=options)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


# %% answer="accelerate_checkpointed"
def train_with_a_library(model, batches, learning_rate):
    from accelerate import Accelerator
    from torch.utils.checkpoint import checkpoint

    accelerator = Accelerator(cpu=device.type == "cpu")
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=learning_rate))
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            states = model.token_embedding(row[:, :-1]) + model.position_embedding.weight[: row.shape[1] - 1]
            for block in model.blocks:
                states = checkpoint(block, states, use_reentrant=False)
            states = model.final_norm(states).flatten(0, 1)
            loss = F.linear_cross_entropy(states, model.head.weight, row[:, 1:].flatten(), options=options)
            accelerator.backward(loss / len(batch))
        optimizer.step()
        optimizer.zero_grad()
