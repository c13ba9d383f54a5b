# Wrong answers to train_until.
# Not here: hard_coded, because states of random runs are nothing to write down.
# Not here: library_shortcut, because no library has an entry point that trains to an update and returns a state.

# %% answer="plain_baseline" code="state_ignored"
# Source: a training loop that saves its weights
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None):
    done = 0
    while done < updates:
        batches = torch.randperm(len(dataset), generator=generator).split(rows)
        for start in range(0, len(batches), k):
            if done < updates:
                run_group(model, optimizer, scheduler, dataset, batches[start : start + k])
                done += 1
    return {"model": copy.deepcopy(model.state_dict())}


# %% answer="copied_from_lesson" code="generator_saved_after_the_draw"
# Source: the parts of the demonstration, which is saved at the end of an epoch
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None):
    done, position = 0, 0
    if state is not None:
        done, position = state["done"], state["position"]
        model.load_state_dict(state["weights"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        generator.set_state(state["order"])
        torch.set_rng_state(state["rng"])
    while done < updates:
        batches = torch.randperm(len(dataset), generator=generator).split(rows)
        while position < len(batches) and done < updates:
            run_group(model, optimizer, scheduler, dataset, batches[position : position + k])
            done, position = done + 1, position + k
        if position >= len(batches):
            position = 0
    parts = {"weights": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    state = {**parts, "order": generator.get_state(), "rng": torch.get_rng_state(), "done": done, "position": position}
    return copy.deepcopy(state)


# %% edit="weights_alone" code="moments_lost"
# Source: torch.save(model.state_dict())
# -         for name, part in parts.items():
# -             part.load_state_dict(state[name])
# +         model.load_state_dict(state["model"])

# %% edit="no_weights" code="weights_not_restored"
# Source: the optimizer has the weights
# -         for name, part in parts.items():
# -             part.load_state_dict(state[name])
# +         optimizer.load_state_dict(state["optimizer"])
# +         scheduler.load_state_dict(state["scheduler"])

# %% edit="no_scheduler" code="rate_restarted"
# Source: the rate is in the optimizer's state
# -         for name, part in parts.items():
# -             part.load_state_dict(state[name])
# +         model.load_state_dict(state["model"])
# +         optimizer.load_state_dict(state["optimizer"])

# %% edit="no_generator_of_dropout" code="dropout_drawn_again"
# Source: the generator of the order is the only one in sight
# -         torch.set_rng_state(state["rng"])

# %% edit="epoch_start" code="epoch_restarted"
# Source: checkpoints belong to epochs
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": 0, "order": order, "rng": torch.get_rng_state()}

# %% edit="total_again" code="updates_counted_again"
# Source: updates of this call
# -         done, position, order = state["done"], state["position"], state["order"]
# +         position, order = state["position"], state["order"]

# %% edit="updates_skipped" code="updates_counted_as_micro_batches"
# Source: the place in the number of updates
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": position // k, "order": order, "rng": torch.get_rng_state()}

# %% edit="computed_place" code="short_groups_forgotten"
# Source: the place computed from all updates
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     place = done * k % -(-len(dataset) // rows)
# +     counts = {"done": done, "position": place, "order": order, "rng": torch.get_rng_state()}

# %% edit="next_epoch" code="epoch_skipped"
# Source: a state between epochs
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": 0, "order": generator.get_state(), "rng": torch.get_rng_state()}

# %% edit="order_of_this_epoch" code="next_order_not_restored"
# Source: the state holds the epoch's order itself, and no generator
# -     done, position, order = 0, 0, generator.get_state()  # of the epoch's start, before its order is drawn
# +     done, position, order = 0, 0, None
# ...
# -         generator.set_state(order)
# -         batches = torch.randperm(len(dataset), generator=generator).split(rows)
# +         order = torch.randperm(len(dataset), generator=generator) if position == 0 else order
# +         batches = order.split(rows)
# ...
# -             position, order = 0, generator.get_state()
# +             position = 0

# %% edit="state_before_the_last_draw" code="finished_epoch_repeated"
# Source: the generator's state is kept before each draw, also where the epoch is over
# -     while done < updates:
# -         generator.set_state(order)
# -         batches = torch.randperm(len(dataset), generator=generator).split(rows)
# -         run_group(model, optimizer, scheduler, dataset, batches[position : position + k])
# -         done, position = done + 1, position + k
# -         if position >= len(batches):
# -             position, order = 0, generator.get_state()
# +     generator.set_state(order)
# +     while done < updates:
# +         order = generator.get_state()
# +         batches = torch.randperm(len(dataset), generator=generator).split(rows)
# +         while position < len(batches) and done < updates:
# +             run_group(model, optimizer, scheduler, dataset, batches[position : position + k])
# +             done, position = done + 1, position + k
# +         position = position if position < len(batches) else 0

# %% edit="own_generator" code="order_drawn_again"
# Source: the generator is an argument, so it is not part of the state
# -         done, position, order = state["done"], state["position"], state["order"]
# +         done, position = state["done"], state["position"]

# %% edit="initial_seed" code="order_of_the_first_epoch"
# Source: the seed of the generator in place of its state
# -     done, position, order = 0, 0, generator.get_state()  # of the epoch's start, before its order is drawn
# +     done, position, order = 0, 0, generator.get_state()  # of the epoch's start, before its order is drawn
# +     begin = order if state is None else state["begin"]
# ...
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": position, "order": begin, "rng": torch.get_rng_state(), "begin": begin}

# %% edit="not_copied" code="state_shared_with_the_live_run"
# Source: state_dict() looks like a copy
# -     return copy.deepcopy({name: part.state_dict() for name, part in parts.items()} | counts)
# +     return {name: part.state_dict() for name, part in parts.items()} | counts

# %% edit="history" code="state_grows_with_updates"
# Source: the losses or rates of a run, for a plot
# -     while done < updates:
# +     history = [] if state is None else state["history"]
# +     while done < updates:
# +         history.append(float(optimizer.param_groups[0]["lr"]))
# ...
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state(), "history": history}

# %% edit="data_too" code="dataset_in_the_state"
# Source: everything in one file
# -     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts = {"done": done, "position": position, "order": order, "rng": torch.get_rng_state()}
# +     counts["data"] = list(dataset.tensors)

# %% edit="whole_objects" code="object_in_the_state"
# Source: the optimizer itself
# -     return copy.deepcopy({name: part.state_dict() for name, part in parts.items()} | counts)
# +     whole = {"model_object": copy.deepcopy(model)}
# +     return copy.deepcopy({name: part.state_dict() for name, part in parts.items()} | counts | whole)

# %% edit="no_dict" code="no_state_returned"
# Source: the model is trained in place
# -     return copy.deepcopy({name: part.state_dict() for name, part in parts.items()} | counts)
# +     return copy.deepcopy([counts, *(part.state_dict() for part in parts.values())])

# %% edit="order_per_update" code="order_drawn_for_each_update"
# Source: the draw inside of the loop over updates
# -         generator.set_state(order)
# -         batches = torch.randperm(len(dataset), generator=generator).split(rows)
# +         batches = torch.randperm(len(dataset), generator=generator).split(rows)

# %% edit="steps_of_one" code="overlapping_groups"
# Source: the place moves by one
# -         done, position = done + 1, position + k
# +         done, position = done + 1, position + 1

# %% edit="short_group" code="short_group_dropped"
# Source: a group has k micro-batches
# -         if position >= len(batches):
# +         if position + k > len(batches):

# %% edit="no_loop" code="no_update_made"
# Source: the condition the other way round
# -     while done < updates:
# +     while done > updates:
