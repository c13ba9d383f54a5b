# the norm of the norms of all tensors, as torch's total gradient norm is computed
def relative_distance(model, reference, start) -> float:
    with torch.no_grad():
        apart = [p.sub(q).norm() for p, q in zip(model.parameters(), reference.parameters())]
        moved = [q.sub(r).norm() for q, r in zip(reference.parameters(), start.parameters())]
        total_apart, total_moved = torch.stack(apart).norm(), torch.stack(moved).norm()
    if total_moved.item() == 0.0:
        raise ValueError("The reference is where it started.")
    return total_apart.item() / total_moved.item()
