# Right answers to fit_within.


# %% answer="own_adapters"
# Source: lesson 21's adapter around a 4-bit layer, its answers stored first
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    class Adapted(nn.Module):
        def __init__(self, weight):
            super().__init__()
            width = len(weight)
            self.base = bitsandbytes.nn.Linear4bit(width, width, bias=False, quant_type="nf4", device="meta")
            self.base.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, quant_type="nf4")
            self.base.to(device)
            self.A = nn.Parameter(torch.randn(4, width, device=device) / width**0.5)
            self.B = nn.Parameter(torch.zeros(width, 4, device=device))

        def forward(self, rows):
            return self.base(rows) + rows @ self.A.T @ self.B.T

    with torch.no_grad():
        answers = [teacher(rows).softmax(dim=1) for rows, _ in batches]
    student = assemble([Adapted(weight) for weight in weights])
    optimizer = torch.optim.AdamW([part for part in student.parameters() if part.requires_grad], lr=1e-3)
    for _ in range(2):
        for (rows, _), wanted in zip(batches, answers, strict=True):
            F.kl_div(F.log_softmax(student(rows), dim=1), wanted, reduction="batchmean").backward()
            optimizer.step()
            optimizer.zero_grad()
    return student


# %% answer="eight_bits_and_checkpoints"
# Source: lesson 20's format for the base, and lesson 03 for what is decoded
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    class Coded(nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.register_buffer("codes", weight.to(torch.float8_e4m3fn))
            self.A = nn.Parameter(torch.randn(4, len(weight), device=device) / len(weight) ** 0.5)
            self.B = nn.Parameter(torch.zeros(len(weight), 4, device=device))

        def multiply(self, rows):
            return rows @ self.codes.float().T + rows @ self.A.T @ self.B.T

        def forward(self, rows):
            return torch.utils.checkpoint.checkpoint(self.multiply, rows, use_reentrant=False)

    teacher.requires_grad_(False)
    student = assemble([Coded(weight) for weight in weights])
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    for rows, _ in batches:
        F.kl_div(student(rows).log_softmax(dim=1), teacher(rows).softmax(dim=1), reduction="batchmean").backward()
        optimizer.step()
        optimizer.zero_grad()
    return student


# %% edit="logits_matched"
# Source: the limit of high temperatures, with 8-bit Adam
# -     optimizer = torch.optim.AdamW([part for part in student.parameters() if part.requires_grad], lr=3e-3)
# +     optimizer = bitsandbytes.optim.AdamW8bit([part for part in student.parameters() if part.requires_grad], lr=3e-3)
# ...
# -             wanted = teacher(rows).softmax(dim=1)
# -         F.kl_div(student(rows).log_softmax(dim=1), wanted, reduction="batchmean").backward()
# +             wanted = teacher(rows)
# +         F.mse_loss(student(rows), wanted).backward()


# %% answer="names_left_behind"
# Source: a loop that leaves its last matrix and its last graph behind
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    layers = []
    for weight in weights:
        layer = bitsandbytes.nn.Linear4bit(*weight.shape, bias=False, quant_type="fp4", compress_statistics=False)
        layer.load_state_dict({"weight": weight})
        layers.append(layer.to(device))
    student = get_peft_model(assemble(layers), LoraConfig(r=2, lora_alpha=8, target_modules=r"layers\.\d+"))
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-3)
    for rows, _ in batches:
        with torch.no_grad():
            wanted = teacher(rows).log_softmax(dim=1)
        answers = student(rows).log_softmax(dim=1)
        loss = F.kl_div(answers, wanted, reduction="batchmean", log_target=True)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return student.eval()
