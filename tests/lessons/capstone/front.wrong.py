# Wrong answers to front.
# Not here: library_shortcut, because no library that the course installs has a Pareto front.

# %% answer="plain_baseline" code="both_ends_only"
# Source: the leanest and the fastest point
def front(points):
    return {min(points, key=points.get), min(points, key=lambda name: points[name][::-1])}


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the names of the published runs
def front(points):
    return {"fp16", "everything", "checkpointing"}


# %% answer="copied_from_lesson" code="fastest_only"
# Source: the fastest one, as among those that fit
def front(points):
    fastest = min(points.values(), key=lambda point: point[1])
    return {name for name, point in points.items() if point[1] == fastest[1]}


# %% answer="strictly_better" code="better_in_both_demanded"
# Source: another one is leaner and faster
def front(points):
    return {
        name
        for name, (size, seconds) in points.items()
        if not any(other[0] < size and other[1] < seconds for other in points.values())
    }


# %% answer="no_strict_part" code="equal_points_beat_each_other"
# Source: any other name that is at least as good
def front(points):
    best = set()
    for name, point in points.items():
        others = [points[other] for other in points if other != name]
        if not any(other[0] <= point[0] and other[1] <= point[1] for other in others):
            best.add(name)
    return best


# %% answer="sweep" code="one_of_equal_points_lost"
# Source: a sweep by size that keeps what is faster than all before
def front(points):
    best, fastest = set(), float("inf")
    for name in sorted(points, key=points.get):
        if points[name][1] < fastest:
            best.add(name)
            fastest = points[name][1]
    return best


# %% answer="itself" code="beaten_by_itself"
# Source: every point is at least as good as itself
def front(points):
    return {n for n, p in points.items() if not any(q[0] <= p[0] and q[1] <= p[1] for q in points.values())}


# %% answer="either" code="beaten_in_one_number"
# Source: or in place of and
def front(points):
    return {n for n, p in points.items() if not any(q[0] < p[0] or q[1] < p[1] for q in points.values())}


# %% answer="leanest" code="leanest_only"
# Source: memory is what counts
def front(points):
    least = min(size for size, _ in points.values())
    return {name for name, (size, _) in points.items() if size == least}


# %% answer="larger_is_better" code="most_is_best"
# Source: a front of throughput and accuracy
def front(points):
    return {n for n, p in points.items() if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points.values())}


# %% answer="hull" code="convex_hull"
# Source: the lower hull of the points
def front(points):
    best = {n for n, p in points.items() if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points.values())}
    corners = [points[name] for name in best]

    def is_above(point):
        for left in corners:
            for right in corners:
                if left[0] < point[0] < right[0]:
                    share = (point[0] - left[0]) / (right[0] - left[0])
                    if point[1] > left[1] + share * (right[1] - left[1]):
                        return True
        return False

    return {name for name in best if not is_above(points[name])}


# %% answer="complement" code="the_beaten_returned"
# Source: a forgotten not
def front(points):
    return {n for n, p in points.items() if any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points.values())}


# %% answer="all_points" code="nothing_beaten"
# Source: a student's first version
def front(points):
    return set(points)


# %% answer="sweep_of_neighbours" code="next_point_only"
# Source: a sweep that compares with the previous point and not with the best one
def front(points):
    ordered = sorted(points.items(), key=lambda item: tuple(item[1]))
    kept = {ordered[0][0]}
    for (_, before), (name, point) in zip(ordered, ordered[1:]):
        if point[1] < before[1] or tuple(point) == tuple(before):
            kept.add(name)
    return kept


# %% answer="sweep_with_ties" code="as_fast_and_larger_kept"
# Source: a sweep with <= in place of <
def front(points):
    names, best = set(), float("inf")
    for name, point in sorted(points.items(), key=lambda item: tuple(item[1])):
        if point[1] <= best:
            names.add(name)
            best = point[1]
    return names


# %% answer="product" code="smallest_product"
# Source: byte-seconds, as clouds bill them
def front(points):
    best = min(size * seconds for size, seconds in points.values())
    return {name for name, (size, seconds) in points.items() if size * seconds == best}
