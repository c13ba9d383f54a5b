# Right answers to train_qlora_with_accelerate.

# %% edit="all_parameters"
# -     trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     trained = model.parameters()  # AdamW skips those without a gradient, and keeps no state of them

# %% edit="not_reentrant"
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter).train()
# +     model = prepare_model_for_kbit_training(model, gradient_checkpointing_kwargs={"use_reentrant": False})
# +     model = get_peft_model(model, adapter).train()

# %% answer="other_ways"
def train_qlora_with_accelerate(folder, dataset, rows, rank, learning_rate, compute_dtype):
    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=str(compute_dtype).removeprefix("torch."),
    )
    base = AutoModelForCausalLM.from_pretrained(str(folder), quantization_config=config, dtype=torch.float32)
    base = prepare_model_for_kbit_training(base, use_gradient_checkpointing=False)
    base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = get_peft_model(base, LoraConfig(r=rank, lora_alpha=rank * 2.0, target_modules=r".*\.(q|v)_proj"))
    model.train()
    accelerator = Accelerator()
    factors = [value for name, value in model.named_parameters() if "lora_" in name]
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows))
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.AdamW([{"params": factors}], lr=learning_rate, weight_decay=0))
    for batch in loader:
        optimizer.zero_grad()
        loss = model(input_ids=batch["input_ids"], labels=batch["labels"]).loss
        accelerator.backward(loss)
        optimizer.step()
    return accelerator.unwrap_model(model)


# %% edit="plain_backward"
# -         accelerator.backward(model(**batch).loss)
# +         model(**batch).loss.backward()  # nothing is scaled here
