# Right answers to compile_with_accelerate.

# %% edit="name_of_the_backend"
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator = Accelerator(dynamo_backend=backend.upper())

# %% edit="by_number_of_labels"
# -     model.config.problem_type = "single_label_classification"
# +     model.config.problem_type = "single_label_classification" if model.config.num_labels > 1 else "regression"

# %% edit="dynamic_and_whole"
# -     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend))
# +     accelerator = Accelerator(dynamo_plugin=TorchDynamoPlugin(backend=backend, fullgraph=True, dynamic=False))

# %% edit="own_loss"
# -     model.config.problem_type = "single_label_classification"
# ...
# -         accelerator.backward(model(**batch).loss)
# +         labels = batch.pop("labels")
# +         accelerator.backward(F.cross_entropy(model(**batch).logits, labels))
