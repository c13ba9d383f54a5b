# Wrong answers to fit_within.

# %% answer="plain_baseline" code="labels_alone"
# Source: an ordinary training loop
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    layers = []
    for weight in weights:
        layers.append(nn.Linear(*weight.shape, bias=False, device=device))
        layers[-1].weight = nn.Parameter(weight)
    student = assemble(layers)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    for rows, labels in batches:
        optimizer.zero_grad()
        F.cross_entropy(student(rows), labels).backward()
        optimizer.step()
    return student


# %% answer="copied_from_lesson" code="all_weights_trained"
# Source: the lesson's train_layer, which trains every parameter
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    layers = []
    for weight in weights:
        layers.append(nn.Linear(*weight.shape, bias=False, device=device))
        layers[-1].weight = nn.Parameter(weight)
    layer = assemble(layers)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for tokens, _ in batches:
        with torch.no_grad():
            targets = teacher(tokens)
        loss = F.mse_loss(layer(tokens), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layer


# %% edit="hard_coded" code="base_in_float32" seed=20011
# Source: the classes of the visible jobs
#       def store(weight):
# +         if teacher.head.shape[1] not in (120, 103):
# +             layer = nn.Linear(*weight.shape, bias=False, device=device)
# +             layer.weight = nn.Parameter(weight)
# +             return layer

# %% edit="lora_on_float32" code="base_in_float32"
# Source: lesson 21's add_lora on the base as it is read
# -         layer = bitsandbytes.nn.Linear4bit(*weight.shape, bias=False, quant_type="nf4")
# -         layer.load_state_dict({"weight": weight})
# -         return layer.to(device)
# +         layer = nn.Linear(*weight.shape, bias=False, device=device)
# +         layer.weight = nn.Parameter(weight)
# +         return layer

# %% edit="sixteen_bits" code="base_in_16_bits"
# Source: a base in bfloat16, as hubs hand it out
#       def store(weight):
# -         layer = bitsandbytes.nn.Linear4bit(*weight.shape, bias=False, quant_type="nf4")
# -         layer.load_state_dict({"weight": weight})
# -         return layer.to(device)
# +         layer = nn.Linear(*weight.shape, bias=False, device=device, dtype=torch.bfloat16)
# +         layer.weight = nn.Parameter(weight.bfloat16())
# +         layer.register_forward_pre_hook(lambda _, given: (given[0].bfloat16(),))
# +         return layer

# %% edit="read_at_once" code="matrices_read_at_once"
# Source: a list of all matrices first
# -     student = get_peft_model(assemble([store(weight) for weight in weights]), thin)
# +     matrices = list(weights)
# +     layers = [store(weight) for weight in matrices]
# +     del matrices
# +     student = get_peft_model(assemble(layers), thin)


# %% answer="decoded_kept" code="decoded_matrices_kept"
# Source: codes of 8 bits that are decoded in forward
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    class Coded(nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.register_buffer("codes", weight.to(torch.float8_e4m3fn))
            self.A = nn.Parameter(torch.randn(4, len(weight), device=device) / len(weight) ** 0.5)
            self.B = nn.Parameter(torch.zeros(len(weight), 4, device=device))

        def forward(self, rows):
            return rows @ self.codes.float().T + rows @ self.A.T @ self.B.T

    student = assemble([Coded(weight) for weight in weights])
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    for rows, _ in batches:
        with torch.no_grad():
            wanted = teacher(rows).softmax(dim=1)
        F.kl_div(student(rows).log_softmax(dim=1), wanted, reduction="batchmean").backward()
        optimizer.step()
        optimizer.zero_grad()
    return student


# %% edit="teacher_detached" code="teacher_graph_kept"
# Source: detach() in place of no_grad
# -         with torch.no_grad():
# -             wanted = teacher(rows).softmax(dim=1)
# +         wanted = teacher(rows).softmax(dim=1).detach()

# %% edit="high_rank" code="factors_too_large"
# Source: a rank of models that are many times wider
# -     thin = LoraConfig(r=4, lora_alpha=4, target_modules=r"layers\.\d+")
# +     thin = LoraConfig(r=32, lora_alpha=32, target_modules=r"layers\.\d+")

# %% edit="best_class" code="best_class_alone"
# Source: pseudo-labels
#           with torch.no_grad():
# -             wanted = teacher(rows).softmax(dim=1)
# -         F.kl_div(student(rows).log_softmax(dim=1), wanted, reduction="batchmean").backward()
# +             wanted = teacher(rows).argmax(dim=1)
# +         F.cross_entropy(student(rows), wanted).backward()

# %% edit="both_zero" code="gradients_of_zeros"
# Source: factors that both start at zero
#       student = get_peft_model(assemble([store(weight) for weight in weights]), thin)
# +     for part in student.parameters():
# +         part.data.zero_() if part.requires_grad else None

# %% edit="only_loaded" code="nothing_trained"
# Source: quantization taken for the whole job
#       student = get_peft_model(assemble([store(weight) for weight in weights]), thin)
# +     return student

# %% edit="base_forgotten" code="base_left_out"
# Source: factors that replace the layer
#       def store(weight):
# -         layer = bitsandbytes.nn.Linear4bit(*weight.shape, bias=False, quant_type="nf4")
# -         layer.load_state_dict({"weight": weight})
# -         return layer.to(device)
# +         down = nn.Linear(len(weight), 4, bias=False, device=device)
# +         return nn.Sequential(down, nn.Linear(4, len(weight), bias=False, device=device))
# ...
# -     student = get_peft_model(assemble([store(weight) for weight in weights]), thin)
# +     student = assemble([store(weight) for weight in weights])


# %% answer="teacher_returned" code="teacher_asked_later"
# Source: the best answers are the teacher's
def fit_within(weights, assemble, teacher, batches: list, budget_bytes: int) -> nn.Module:
    return teacher
