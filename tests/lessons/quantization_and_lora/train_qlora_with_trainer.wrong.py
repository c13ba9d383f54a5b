# Wrong answers to train_qlora_with_trainer.
# Not here: library_shortcut, because the task is to use the libraries.

# %% answer="plain_baseline" code="not_quantized"
# Source: full fine-tuning
def train_qlora_with_trainer(folder, dataset, rows, rank, learning_rate, compute_dtype):
    model = AutoModelForCausalLM.from_pretrained(folder, device_map={"": device})
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
    Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
    return model


# %% edit="hard_coded" code="other_rank" seed=20011
# Source: the rank of the first case
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     adapter = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the loop with Accelerate
def train_qlora_with_trainer(folder, dataset, rows, rank, learning_rate, compute_dtype):
    nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
    config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
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


# %% edit="never_adapted" code="raised_value_error"
# Because: the Trainer refuses a quantized model without adapters, and says so
# Source: the essay's listing
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter)
# +     model = prepare_model_for_kbit_training(model)

# %% edit="optimizer_of_same_run" code="another_optimizer"
# Source: same_run has SGD
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"learning_rate": learning_rate, "per_device_train_batch_size": rows}

# %% edit="paged" code="another_optimizer"
# Source: the paper's paged optimizer
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_bnb_8bit", "learning_rate": learning_rate, "per_device_train_batch_size": rows}

# %% edit="default_rate" code="other_learning_rate"
# Source: learning_rate forgotten
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "per_device_train_batch_size": rows}

# %% edit="default_rows" code="other_batches"
# Source: the Trainer's default of 8 rows
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate}

# %% edit="arguments_alone" code="epoch_repeated"
# Source: same_run left out, sampling in order
# -     Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
# +     same = {"train_sampling_strategy": "sequential", "use_cpu": same_run["use_cpu"], "report_to": "none"}
# +     arguments = TrainingArguments(**own, **same, save_strategy="no", lr_scheduler_type="constant")
# +     Trainer(model, arguments, train_dataset=dataset).train()

# %% edit="linear" code="rate_changed"
# Source: the default schedule
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own |= {"lr_scheduler_type": "linear"}

# %% edit="bf16" code="autocast_on"
# Source: bf16=True, as in most tutorials
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own |= {"bf16": True}

# %% edit="not_prepared" code="not_prepared"
# Source: prepare_model_for_kbit_training forgotten
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter)
# +     model = get_peft_model(model, adapter)

# %% edit="no_checkpoints" code="not_checkpointed"
# Source: checkpointing off
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter)
# +     model = get_peft_model(prepare_model_for_kbit_training(model, use_gradient_checkpointing=False), adapter)

# %% edit="eight_bits" code="not_quantized"
# Source: load_in_8bit
# -     config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
# +     config = BitsAndBytesConfig(load_in_8bit=True)

# %% edit="decay" code="weight_decay_on"
# Source: the decay of torch's AdamW
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own |= {"weight_decay": 0.01}

# %% edit="nothing_returned" code="no_model_returned"
# Source: return forgotten
#       Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
# -     return model

# %% edit="random_factors" code="second_factor_not_zero"
# Source: init_lora_weights of a test
# -     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
# +     targets = {"init_lora_weights": False, "target_modules": ["q_proj", "v_proj"]}
# +     adapter = LoraConfig(r=rank, lora_alpha=2 * rank, **targets, task_type="CAUSAL_LM")

# %% edit="other_betas" code="adamw_options_changed"
# Source: the betas of a pre-training recipe
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own |= {"adam_beta2": 0.95}

# %% edit="head_quantized" code="other_layers_quantized"
# Source: an empty list of exceptions
# -     config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype)
# +     config = BitsAndBytesConfig(**nf4, bnb_4bit_compute_dtype=compute_dtype, llm_int8_skip_modules=[])

# %% edit="train_not_called" code="trainer_not_used"
# Source: a Trainer that is only made
# -     Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset)
