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


# %% answer="absolute_values" code="absolute_values_added"
# Source: the mean absolute difference, common in reports on model drift
# The norm of a vector is the sum of its absolute values.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).abs().mean()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return ((flat[0] - flat[1]).abs().mean() / moved).item()


# %% answer="cosine" code="angle_compared"
# Source: cosine similarity, which papers on model merging compare task vectors with
# Two models that moved in the same direction have the same weights.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return 1 - torch.cosine_similarity(flat[0] - flat[2], flat[1] - flat[2], dim=0).item()


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


# %% answer="divided_by_own_movement" code="divided_by_own_movement"
# Source: a likely slip: the movement of the wrong model
# How far the model itself moved is the measure.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / (flat[0] - flat[2]).norm())


# %% answer="python_division" code="division_error_raised"
# Source: a likely slip: Python's own error is trusted to come
# Python raises where a division by 0 happens, so nothing has to be tested.
import math


def relative_distance(model, reference, start) -> float:
    apart = moved = 0.0
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        apart += (p - q).pow(2).sum().item()
        moved += (q - r).pow(2).sum().item()
    return math.sqrt(apart) / math.sqrt(moved)


# %% answer="pairwise" code="epsilon_added"
# Source: PyTorch documentation, torch.nn.functional.pairwise_distance: eps=1e-6 by default
# The library's distance of two vectors is the norm of their difference.
def relative_distance(model, reference, start) -> float:
    ended, wanted, began = flatten(model), flatten(reference), flatten(start)
    if torch.equal(wanted, began):
        raise ValueError("the reference has not moved: train it first")
    distance = torch.nn.functional.pairwise_distance
    return (distance(ended, wanted) / distance(wanted, began)).item()


# %% answer="error_without_text" code="error_without_text"
# Source: a likely slip: raise ValueError and nothing else
# The name of the error says enough.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError
    return float((flat[0] - flat[1]).norm() / moved)


# %% answer="first_parameter" code="first_parameter_only"
# Source: a likely slip: return inside the loop
# A return inside a loop collects the results of all rounds.
def relative_distance(model, reference, start) -> float:
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        moved = (q - r).norm().item()
        if moved == 0:
            raise ValueError("the reference has not moved: train it first")
        return (p - q).norm().item() / moved


# %% answer="tensor_with_graph" code="graph_returned"
# Source: a likely slip: no detach and no item
# A tensor of one element is a plain number.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return (flat[0] - flat[1]).norm() / moved


# %% answer="largest_difference" code="largest_difference"
# Source: the largest difference of any weight, as library tests print it
# The largest difference of any weight tells how far apart two models are.
def relative_distance(model, reference, start) -> float:
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return max((p - q).abs().max().item() for p, q in zip(model.parameters(), reference.parameters()))


# %% answer="last_parameter" code="last_parameter_only"
# Source: a likely slip: = where += belongs
# The last round of a loop holds the result.
def relative_distance(model, reference, start) -> float:
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        apart = (p - q).norm().item()
        moved = (q - r).norm().item()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved


# %% answer="lengths_subtracted" code="lengths_compared"
# Source: a likely slip: the norm is taken first
def norm_of(weights):
    return torch.cat([p.detach().flatten() for p in weights.parameters()]).norm().item()


def relative_distance(model, reference, start) -> float:
    moved = abs(norm_of(reference) - norm_of(start))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return abs(norm_of(model) - norm_of(reference)) / moved


# %% answer="compared_with_start" code="model_compared_with_start"
# Source: a likely slip: the start is subtracted twice
# How far each model moved says how far apart they are.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[2]).norm() / moved)


# %% answer="subtracted_in_place" code="models_changed"
# Source: a likely slip: sub_ saves a line
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


# %% answer="asserted" code="other_error_raised"
# Source: asserts at the head of a function, a habit of research code
# An assert is as good an error as any other.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    assert moved > 0, "the reference has not moved: train it first"
    return float((flat[0] - flat[1]).norm() / moved)


# %% answer="percent" code="percent_returned"
# Source: a likely slip: the ratio is shown in percent
# A relative distance is a percentage.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return 100 * float((flat[0] - flat[1]).norm() / moved)


# %% answer="squares_divided" code="root_missing"
# Source: a likely slip: the root of the sum of squares is forgotten
def relative_distance(model, reference, start) -> float:
    apart = sum(((p - q) ** 2).sum().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum(((p - q) ** 2).sum().item() for p, q in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved


# %% answer="rounded" code="rounded"
# Source: a likely slip: the number is rounded for display
# Four digits are enough for a distance.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return round(float((flat[0] - flat[1]).norm() / moved), 4)


# %% answer="differences_added" code="signs_cancel"
# Source: a likely slip: no absolute value and no square
# The difference of two models is the sum of all differences.
def relative_distance(model, reference, start) -> float:
    apart = sum((p - q).sum().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum((q - r).sum().item() for q, r in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return abs(apart) / abs(moved)


# %% answer="allclose_for_unmoved" code="small_movement_refused"
# Source: numpy.allclose with its default tolerance, as a test for equality
# Weights that are close to those of the start have not moved.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.allclose(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())


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


# %% answer="epsilon_added" code="unmoved_reference_hidden"
# Source: the epsilon of normalisation layers and of Adam
# A small number in the divisor makes a division by 0 harmless.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    return float((flat[0] - flat[1]).norm() / ((flat[1] - flat[2]).norm() + 1e-12))


# %% answer="nothing_raised" code="unmoved_reference_not_finite"
# Source: a likely slip: the docstring is read up to Returns
# A division by a movement of 0 explains itself.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())


# %% answer="printed" code="unmoved_reference_not_raised"
# Source: a likely slip: print in place of raise
# An error is told by printing it.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        print("the reference has not moved: train it first")
    else:
        return float((flat[0] - flat[1]).norm() / moved)


# %% answer="zero_for_unmoved" code="unmoved_reference_zero"
# Source: metrics that return 0 where they are undefined, as scikit-learn's zero_division does
# Where the reference has not moved, the distance is 0.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        return 0.0
    return float((flat[0] - flat[1]).norm() / moved)


# %% answer="untrained_model_refused" code="untrained_model_refused"
# Source: a likely slip: the test looks at the wrong model
# A model that was not trained cannot be compared.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[0], flat[2]) or torch.equal(flat[1], flat[2]):
        raise ValueError("nothing has moved: train first")
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())


# %% answer="allclose" code="yes_or_no_returned"
# Source: torch.allclose in the tests of many repositories
# Two trainings agree or they do not.
def relative_distance(model, reference, start) -> float:
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return all(torch.allclose(p, q, rtol=1e-4) for p, q in zip(model.parameters(), reference.parameters()))
