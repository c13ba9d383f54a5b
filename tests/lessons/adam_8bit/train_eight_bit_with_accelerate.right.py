# %% edit="with_the_helper"
# Source: the given helper of the lesson
# -     for module in model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
# +     keep_embeddings_in_32_bits(model)
#       decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]


# %% answer="adam_8bit"
# Source: Adam8bit, whose decay is decoupled too; a group for each parameter
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for name, module in model.named_modules():
        if name.endswith("_embeddings"):
            bitsandbytes.optim.GlobalOptimManager.get_instance().register_module_override(
                module, "weight", {"optim_bits": 32}
            )
    groups = [{"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0} for p in model.parameters()]
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, bitsandbytes.optim.Adam8bit(groups, lr=lr))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


# %% answer="accumulate_of_one"
# Source: accelerator.accumulate, with one batch for an update
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    keep_embeddings_in_32_bits(model)
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == large] for large in (True, False))
    groups = [{"params": others, "weight_decay": 0.0}, {"params": matrices}]
    accelerator = Accelerator()
    parts = model, bitsandbytes.optim.AdamW8bit(groups, lr, weight_decay=weight_decay), DataLoader(dataset, rows)
    model, optimizer, loader = accelerator.prepare(*parts)
    for batch in loader:
        with accelerator.accumulate(model):
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
