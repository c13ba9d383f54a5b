# Wrong answers to train_qlora_with_accelerate.
# Not here: library_shortcut, because the task is to use the libraries.

# %% answer="plain_baseline" code="not_quantized"
# Source: full fine-tuning
def train_qlora_with_accelerate(folder, dataset, rows, rank, learning_rate, compute_dtype):
    model = AutoModelForCausalLM.from_pretrained(folder, device_map={"": device}).train()
    optimizer, accelerator = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0), Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    return model


# %% edit="hard_coded" code="other_rank" seed=20011
# Source: the rank of the first case, and what the notebook computes in
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     adapter = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


# %% answer="copied_from_lesson" code="no_double_quantization"
# Source: a tutorial's config
def train_qlora_with_accelerate(folder, dataset, rows, rank, learning_rate, compute_dtype):
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=compute_dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=config, device_map={"": device})
    adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
    optimizer, accelerator = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0), Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    return model


# %% edit="never_adapted" code="no_adapter"
# Source: the essay's listing
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# -     trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     model = prepare_model_for_kbit_training(model).train()
# +     trained = list(model.parameters())

# %% edit="other_order" code="adapters_frozen"
# Source: adapted, then prepared
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# -     trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     model = prepare_model_for_kbit_training(get_peft_model(model, adapter)).train()
# +     trained = list(model.parameters())

# %% edit="not_prepared" code="not_prepared"
# Source: prepare_model_for_kbit_training forgotten
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# +     model = get_peft_model(model, adapter).train()

# %% edit="no_checkpoints" code="not_checkpointed"
# Source: use_gradient_checkpointing=False, because it is slow
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# +     model = get_peft_model(prepare_model_for_kbit_training(model, use_gradient_checkpointing=False), adapter).train()

# %% edit="eval_mode" code="model_in_eval_mode"
# Source: train() forgotten
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# +     model = get_peft_model(prepare_model_for_kbit_training(model), adapter)

# %% edit="fp4" code="quantized_to_fp4"
# Source: the default of bitsandbytes
# -     nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
# +     nf4 = {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}

# %% edit="default_compute" code="other_compute_dtype"
# Source: the compute dtype left at its default
# -     config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
# +     config = BitsAndBytesConfig(**nf4)

# %% edit="all_linear" code="other_targets"
# Source: all-linear, as in the paper
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")

# %% edit="default_alpha" code="other_scale"
# Source: lora_alpha left at 8, which the first case hides
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     adapter = LoraConfig(r=rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")

# %% edit="dropout" code="dropout_added"
# Source: a tutorial's lora_dropout
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     targets = ["q_proj", "v_proj"]
# +     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=targets, lora_dropout=0.05, task_type="CAUSAL_LM")

# %% edit="sgd" code="another_optimizer"
# Source: the optimizer of same_run
# -     optimizer, accelerator = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0), Accelerator()
# +     optimizer, accelerator = torch.optim.SGD(trained, lr=learning_rate), Accelerator()

# %% edit="default_decay" code="weight_decay_on"
# Source: torch's default
# -     optimizer, accelerator = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0), Accelerator()
# +     optimizer, accelerator = torch.optim.AdamW(trained, lr=learning_rate), Accelerator()

# %% edit="first_layer_alone" code="other_targets"
# Source: layers_to_transform
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     first = {"layers_to_transform": [0], "target_modules": ["q_proj", "v_proj"]}
# +     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, **first, task_type="CAUSAL_LM")

# %% edit="factors_in_bfloat16" code="factors_in_16_bits"
# Source: model.bfloat16() of a script
# -     trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     for parameter in trained:
# +         parameter.data = parameter.data.bfloat16()

# %% edit="optimizer_first" code="nothing_to_train"
# Source: adapted, then prepared, and trainable parameters chosen after it
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# +     model = prepare_model_for_kbit_training(get_peft_model(model, adapter)).train()

# %% edit="accumulated" code="other_number_of_updates"
# Source: accumulation over two batches
# -     for batch in loader:
# +     for index, batch in enumerate(loader):
# ...
# -         optimizer.step()
# -         optimizer.zero_grad()
# +         if index % 2:
# +             optimizer.step()
# +             optimizer.zero_grad()

# %% edit="shuffled" code="rows_in_another_order"
# Source: shuffle=True
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows, shuffle=True)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# %% edit="autocast" code="autocast_on"
# Source: mixed_precision in place of the compute dtype
# -     optimizer, accelerator = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0), Accelerator()
# +     optimizer = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0)
# +     accelerator = Accelerator(mixed_precision="bf16")

# %% edit="nothing_returned" code="no_model_returned"
# Source: return forgotten
#           optimizer.zero_grad()
# -     return model

# %% edit="never_cleared" code="other_factors"
# Source: zero_grad forgotten
#           optimizer.step()
# -         optimizer.zero_grad()

# %% edit="loop_forgotten" code="model_not_run"
# Source: prepared, and then returned
#       model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     for batch in loader:
# -         accelerator.backward(model(**batch).loss)
# -         optimizer.step()
# -         optimizer.zero_grad()
