# %% answer="own_loader_unprepared"
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    own = [batch[dist.get_rank() :: dist.get_world_size()] for batch in batches]

    class Sliced(Trainer):
        def get_train_dataloader(self):
            return DataLoader(dataset, batch_sampler=own, collate_fn=collate)

    Sliced(model, TrainingArguments(**same_run, learning_rate=learning_rate), train_dataset=dataset).train()


# %% answer="loader_prepared_alone"
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    arguments = TrainingArguments(**(same_run | {"learning_rate": learning_rate}))
    shares = []
    for batch in batches:
        shares += [batch[rank :: arguments.world_size] for rank in range(arguments.world_size)]

    class Shared(Trainer):
        def get_train_dataloader(self):
            return self.accelerator.prepare_data_loader(DataLoader(dataset, batch_sampler=shares, collate_fn=collate))

    Shared(model=model, args=arguments, train_dataset=dataset).train()


# %% answer="method_replaced"
def train_batches_with_trainer(model, dataset, batches, collate, learning_rate):
    arguments = TrainingArguments(**same_run, learning_rate=learning_rate)
    trainer = Trainer(model, arguments, train_dataset=dataset, data_collator=collate)
    ranks = dist.get_world_size()
    shares = [batch[rank::ranks] for batch in batches for rank in range(ranks)]
    loader = trainer.accelerator.prepare(DataLoader(dataset, batch_sampler=shares, collate_fn=collate))
    trainer.get_train_dataloader = lambda: loader
    trainer.train()
