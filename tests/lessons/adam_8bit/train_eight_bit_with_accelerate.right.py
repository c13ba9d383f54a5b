# %% edit="with_the_helper"
# Source: the given helper of the lesson
# -     for module in model.modules():
# -         if isinstance(module, torch.nn.Embedding):
# -             manager.register_module_override(module, "weight", {"optim_bits": 32})
# +     keep_embeddings_in_32_bits(model)
#       decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]


# %% answer="two_optimizers"
# Source: embeddings in AdamW of bitsandbytes, the rest in 8 bits
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    tables = [module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    known = set(map(id, tables))
    other = [parameter for parameter in model.parameters() if id(parameter) not in known]
    groups = [{"params": [p], "weight_decay": weight_decay * (p.dim() > 1)} for p in other]
    pair = bitsandbytes.optim.AdamW(tables, lr=lr, weight_decay=weight_decay), bitsandbytes.optim.AdamW8bit(groups, lr)
    accelerator = Accelerator()
    model, full, small, loader = accelerator.prepare(model, *pair, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        for optimizer in (full, small):
            optimizer.step()
            optimizer.zero_grad()


# %% answer="adam_8bit"
# Source: Adam8bit, whose decay is decoupled too; override_config by id
def train_eight_bit_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    manager.register_parameters(list(model.parameters()))
    for module in model.modules():
        if type(module) is torch.nn.Embedding:
            manager.override_config(module.weight, "optim_bits", 32)
    groups = [{"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0} for p in model.parameters()]
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, bitsandbytes.optim.Adam8bit(groups, lr=lr))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
