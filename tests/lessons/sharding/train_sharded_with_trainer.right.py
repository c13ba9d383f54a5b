# %% edit="one_name"
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_layer_cls_to_wrap": "BertLayer", "reshard_after_forward": reshard}

# %% edit="version_named"
# -     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard}
# +     units = {"transformer_layer_cls_to_wrap": ["BertLayer"], "reshard_after_forward": reshard, "version": 2}

# %% edit="keywords"
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     Trainer(model=model, args=arguments, train_dataset=dataset).train()
