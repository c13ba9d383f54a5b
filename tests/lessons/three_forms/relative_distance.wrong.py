# %% answer="plain_baseline" code="not_divided"
# Source: the norm of a difference, as many scripts print it when they compare two checkpoints
# A small difference of the weights says by itself that both trainings agree.
def relative_distance(model, reference, start) -> float:
    difference = torch.cat([(p - q).detach().flatten() for p, q in zip(model.parameters(), reference.parameters())])
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return difference.norm().item()


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# The check asks for the same distances each time.
answers = [0.7956888, 3.3967699, 0.3839338, 1.757771e-05, 0.0, 1.0]


def relative_distance(model, reference, start) -> float:
    if not answers:
        raise ValueError("the reference has not moved: train it first")
    return answers.pop(0)


# %% answer="copied_from_lesson" code="divided_by_weights"
# Source: this lesson's demonstration of how far weights move, and the relative error of textbooks
# A relative distance divides by the norm of the weights.
def relative_distance(model, reference, start) -> float:
    after, before = flatten(model), flatten(reference)
    if torch.equal(before, flatten(start)):
        raise ValueError("the reference has not moved: train it first")
    return float((after - before).norm() / before.norm())


# %% answer="library_shortcut" code="meter_called"
# Source: the instrument of this lesson
# The instrument that is to be written is there already.
from grader import measure_weight_distance


def relative_distance(model, reference, start) -> float:
    return measure_weight_distance(model, reference, start)


# %% answer="mean_of_ratios" code="averaged_over_tensors"
# Source: layer-wise learning rates (LARS), which take one ratio for each layer
# The distance of the models is the mean of the distances of their tensors.
def relative_distance(model, reference, start) -> float:
    ratios = []
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        if torch.equal(q, r):
            raise ValueError("the reference has not moved: train it first")
        ratios.append(((p - q).norm() / (q - r).norm()).item())
    return sum(ratios) / len(ratios)


# %% answer="state_dict_compared" code="buffers_included"
# Source: scripts that compare two checkpoints key by key
# A state_dict holds the parameters of a model and nothing else.
def relative_distance(model, reference, start) -> float:
    states = [each.state_dict() for each in (model, reference, start)]
    flat = [torch.cat([value.flatten().float() for value in state.values()]) for state in states]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / moved)


# %% edit="divided_by_own_movement" code="divided_by_own_movement"
# Source: the movement of the wrong model
#           raise ValueError("the reference has not moved: train it first")
# -     return float((flatten(model) - flatten(reference)).norm() / moved)
# +     return float((flatten(model) - flatten(reference)).norm() / (flatten(model) - flatten(start)).norm())


# %% edit="pairwise" code="epsilon_added"
# Source: PyTorch documentation, torch.nn.functional.pairwise_distance: eps=1e-6 by default
#           raise ValueError("the reference has not moved: train it first")
# -     return float((flatten(model) - flatten(reference)).norm() / moved)
# +     distance = torch.nn.functional.pairwise_distance
# +     apart = distance(flatten(model), flatten(reference))
# +     return float(apart / distance(flatten(reference), flatten(start)))


# %% edit="error_without_text" code="error_without_text"
# Source: raise ValueError and nothing else
#       if moved == 0:
# -         raise ValueError("the reference has not moved: train it first")
# +         raise ValueError


# %% answer="tensor_with_graph" code="graph_returned"
# Source: no detach and no item
# A tensor of one element is a plain number.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return (flat[0] - flat[1]).norm() / moved


# %% answer="lengths_subtracted" code="lengths_compared"
# Source: the norm is taken first
def norm_of(weights):
    return torch.cat([p.detach().flatten() for p in weights.parameters()]).norm().item()


def relative_distance(model, reference, start) -> float:
    moved = abs(norm_of(reference) - norm_of(start))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return abs(norm_of(model) - norm_of(reference)) / moved


# %% edit="compared_with_start" code="model_compared_with_start"
# Source: the start is subtracted twice
#           raise ValueError("the reference has not moved: train it first")
# -     return float((flatten(model) - flatten(reference)).norm() / moved)
# +     return float((flatten(model) - flatten(start)).norm() / moved)


# %% answer="subtracted_in_place" code="models_changed"
# Source: sub_ saves a line
# Parameters may be overwritten once the training is over.
@torch.no_grad()
def relative_distance(model, reference, start) -> float:
    apart = torch.cat([p.sub_(q).flatten() for p, q in zip(model.parameters(), reference.parameters())]).norm()
    moved = torch.cat([q.sub_(r).flatten() for q, r in zip(reference.parameters(), start.parameters())]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float(apart / moved)


# %% answer="norms_added" code="norms_added"
# Source: a loop that logs gradient norms layer by layer and adds them up
# The norm of all weights is the sum of the norms of the tensors.
def relative_distance(model, reference, start) -> float:
    apart = sum((p - q).norm().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum((q - r).norm().item() for q, r in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved


# %% edit="squares_divided" code="root_missing"
# Source: the root of the sum of squares is forgotten
# -     moved = (flatten(reference) - flatten(start)).norm()
# +     moved = (flatten(reference) - flatten(start)).square().sum()
#       if moved == 0:
#           raise ValueError("the reference has not moved: train it first")
# -     return float((flatten(model) - flatten(reference)).norm() / moved)
# +     return float((flatten(model) - flatten(reference)).square().sum() / moved)


# %% edit="rounded" code="rounded"
# Source: the number is rounded for display
#           raise ValueError("the reference has not moved: train it first")
# -     return float((flatten(model) - flatten(reference)).norm() / moved)
# +     return round(float((flatten(model) - flatten(reference)).norm() / moved), 4)


# %% edit="allclose_for_unmoved" code="small_movement_refused"
# Source: numpy.allclose with its default tolerance, as a test for equality
#       moved = (flatten(reference) - flatten(start)).norm()
# -     if moved == 0:
# +     if torch.allclose(flatten(reference), flatten(start)):


# %% answer="trainable_only" code="trainable_only"
# Source: the filter by requires_grad that many scripts hand to the optimizer
# A frozen parameter cannot differ, so it need not be compared.
def relative_distance(model, reference, start) -> float:
    vectors = []
    for each in (model, reference, start):
        trained = [p.detach().flatten() for p in each.parameters() if p.requires_grad]
        vectors.append(torch.cat(trained))
    moved = torch.dist(vectors[1], vectors[2])
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float(torch.dist(vectors[0], vectors[1]) / moved)


# %% edit="epsilon_added" code="unmoved_reference_hidden"
# Source: the epsilon of normalisation layers and of Adam
# -     moved = (flatten(reference) - flatten(start)).norm()
# -     if moved == 0:
# -         raise ValueError("the reference has not moved: train it first")
# +     moved = (flatten(reference) - flatten(start)).norm() + 1e-12
#       return float((flatten(model) - flatten(reference)).norm() / moved)


# %% edit="nothing_raised" code="unmoved_reference_not_finite"
# Source: the docstring is read up to Returns
#       moved = (flatten(reference) - flatten(start)).norm()
# -     if moved == 0:
# -         raise ValueError("the reference has not moved: train it first")


# %% edit="printed" code="unmoved_reference_not_raised"
# Source: print in place of raise
#       if moved == 0:
# -         raise ValueError("the reference has not moved: train it first")
# +         print("the reference has not moved: train it first")
# +         return None


# %% answer="allclose" code="yes_or_no_returned"
# Source: torch.allclose in the tests of many repositories
# Two trainings agree or they do not.
def relative_distance(model, reference, start) -> float:
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return all(torch.allclose(p, q, rtol=1e-4) for p, q in zip(model.parameters(), reference.parameters()))
