"""Verdict on the bytes that deleting a name would free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from grader.judging.lessons.where_memory_goes.deviations import Deviation, Recogniser, Rules
from grader.judging.lessons.where_memory_goes.held_by_names import RIGHT_RULES, HeldByNames, freed_by_names
from grader.judging.lessons.where_memory_goes.other_units import other_unit
from grader.judging.lessons.where_memory_goes.wording import say_bytes
from grader.lessons.where_memory_goes.left_alive import NamespaceCase, namespace_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen

SHARED = "memory that two names hold: is it free when one of them is deleted?"

DEVIATIONS = (
    Deviation(
        "tensor_sizes_added",
        {"shared": "counted", "size": "tensor", "within": "each"},
        "the sum over the tensors of a name: which storages do they use, and who else holds these?",
    ),
    Deviation(
        "top_level_tensors_only",
        {"containers": "skipped", "modules": "skipped", "optimizers": "skipped"},
        "names that are no tensor themselves: what do models, optimizers, lists and dicts hold?",
    ),
    Deviation(
        "parameters_and_tensors_only",
        {
            "containers": "skipped",
            "optimizers": "skipped",
            "gradients": "forgotten",
            "buffers": "forgotten",
            "shared": "counted",
            "size": "tensor",
        },
        "what is neither a tensor nor a parameter: gradients, buffers, optimizers, and what lists and dicts hold.",
    ),
    Deviation("every_holder_counted", {"shared": "counted"}, SHARED),
    Deviation("shared_memory_split", {"shared": "split"}, SHARED),
    Deviation("shared_memory_split", {"shared": "split_down"}, SHARED),
    Deviation("first_holder_gets_all", {"shared": "first"}, f"{SHARED} Does the order of the names matter?"),
    Deviation(
        "last_holder_gets_all", {"shared": "last"}, f"{SHARED} Each name is deleted alone, not after the others."
    ),
    Deviation(
        "told_apart_by_tensor",
        {"key": "tensor"},
        "two tensor objects with one storage: views, .detach(), state_dict().",
    ),
    Deviation(
        "told_apart_by_address",
        {"key": "address"},
        "the address that you compare: a view may begin in the middle of its storage.",
    ),
    Deviation("told_apart_by_content", {"key": "content"}, "two tensors with equal numbers: are they one storage?"),
    Deviation("four_bytes_assumed", {"size": "float32"}, "tensors whose elements are no float32."),
    Deviation("elements_for_bytes", {"size": "elements"}, "bytes of one element: are all elements of one size?"),
    Deviation(
        "tensor_size_for_storage",
        {"size": "tensor"},
        "a small view of a large tensor, an expanded tensor: how large is what they keep alive?",
    ),
    Deviation("counted_for_each_tensor", {"within": "each"}, "two tensors of one name that use one storage."),
    Deviation(
        "shared_within_a_name",
        {"holders": "tensors"},
        "two tensors of one name that use one storage: does another name hold it?",
    ),
    Deviation("containers_skipped", {"containers": "skipped"}, "tensors in lists, tuples and dicts."),
    Deviation("nested_containers_skipped", {"containers": "one_level"}, "a dict in a list, a model in a dict."),
    Deviation("modules_skipped", {"modules": "skipped"}, "the parameters of a model."),
    Deviation("optimizer_skipped", {"optimizers": "skipped"}, "what an optimizer holds."),
    Deviation(
        "optimizer_parameters_forgotten",
        {"optimizers": "state"},
        "the optimizer's param_groups: what else do they hold, besides settings?",
    ),
    Deviation("optimizer_state_forgotten", {"optimizers": "parameters"}, "the optimizer's state after its first step."),
    Deviation("gradients_forgotten", {"gradients": "forgotten"}, "what hangs on a parameter besides its numbers."),
    Deviation(
        "gradients_forgotten", {"modules": "state_dict"}, "what hangs on a parameter and is not in state_dict()."
    ),
    Deviation("buffers_forgotten", {"buffers": "forgotten"}, "tensors of a module that are not parameters."),
)


def judge_freed_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare the bytes of every name in every namespace; the first miss is told."""
    cases, answers, truths = namespace_cases(seed), observation.facts["settings"], true_bytes(seed)
    for case, answer, truth in zip(cases, answers, truths, strict=True):
        verdict = _judge_names(case, answer, truth)
        if verdict:
            return verdict
    for case, answer, truth in zip(cases, answers, truths, strict=True):
        for name, right in truth.items():
            if answer[name] != right:
                deviation = _recognise(answers, truths, seed) or _direction(answer[name], right)
                expected = f"{say_bytes(right)} freed by `del {name}` in {case.program}"
                return Verdict(deviation.code, expected, say_bytes(answer[name]), deviation.look_at)
    names = sum(len(truth) for truth in truths)
    freeing = sum(right > 0 for truth in truths for right in truth.values())
    measured = f"{names} names of {len(cases)} programs, to the byte; {freeing} of them free memory"
    return Verdict(PASSED, f"the bytes of {names} names", measured)


@cache
def true_bytes(seed: int) -> tuple[dict[str, int], ...]:
    """Return what deleting each name alone frees, for every case."""
    return tuple(freed_by_names(case.make_namespace()) for case in namespace_cases(seed))


def make_recogniser(seed: int) -> Recogniser:
    """Return the recogniser of answers that follow other rules, all names in one row."""
    namespaces = [case.make_namespace() for case in namespace_cases(seed)]

    def yields(rules: Rules) -> list[float]:
        held = HeldByNames(RIGHT_RULES | rules)
        return [bytes_count for namespace in namespaces for bytes_count in held.count(namespace).values()]

    return Recogniser(DEVIATIONS, yields, slack=1)


def _judge_names(case: NamespaceCase, answer: Mapping[str, float], truth: Mapping[str, int]) -> Verdict | None:
    """Judge which names the answer has, without their bytes."""
    expected = f"bytes for each of the {len(truth)} names of {case.program}"
    missing, unknown = [name for name in truth if name not in answer], [name for name in answer if name not in truth]
    if unknown:
        measured, look_at = f"bytes for {_list(unknown)}", "the keys of the result: they are the names of the namespace"
        return Verdict("unknown_names", expected, measured, look_at)
    if not missing:
        return None
    measured = f"no bytes for {_list(missing)}"
    if len(answer) <= 1 < len(truth):
        look_at = "every name is asked for, not the largest"
        return Verdict("one_name_only", expected, measured, look_at)
    if all(name.startswith("_") for name in missing):
        look_at = "names that begin with _: can they keep memory alive?"
        return Verdict("private_names_left_out", expected, measured, look_at)
    if not any(truth[name] for name in missing):
        return Verdict("names_without_bytes_left_out", expected, measured, "what a name that frees nothing answers: 0")
    return Verdict("names_left_out", expected, measured, "the names that your loop skips: what do they hold?")


def _recognise(
    answers: Sequence[Mapping[str, float]], truths: Sequence[Mapping[str, int]], seed: int
) -> Deviation | None:
    flat = [answer[name] for answer, truth in zip(answers, truths, strict=True) for name in truth]
    rights = [right for truth in truths for right in truth.values()]
    if not any(flat):
        return Deviation("nothing_freed", {}, "where your bytes come from: is a name compared with itself?")
    if all(answer > 0 for answer in flat) and max(flat) < max(rights) / 10:
        return Deviation("python_objects_measured", {}, "the size of the Python object: where are its numbers?")
    visible = [right for truth in true_bytes(VISIBLE_SEED) for right in truth.values()]
    if flat == visible:
        look_at = "numbers that are right for other programs: what does your answer read from the namespace?"
        return Deviation("visible_case_hard_coded", {}, look_at)
    recogniser = make_recogniser(seed)
    return (
        other_unit(flat, rights)
        or recogniser.recognise(flat)
        or _all_or_nothing(flat, rights, seed)
        or recogniser.recognise_most(flat, rights)
    )


def _all_or_nothing(flat: Sequence[float], rights: Sequence[int], seed: int) -> Deviation | None:
    """Recognise names that are 0 as soon as they share any of their memory."""
    held = HeldByNames(RIGHT_RULES | {"shared": "counted"})
    reached = [count for case in namespace_cases(seed) for count in held.count(case.make_namespace()).values()]
    zero = [0 if reach > right else right for reach, right in zip(reached, rights, strict=True)]
    if list(flat) != zero:
        return None
    look_at = "a name that shares some of its memory and has some of its own: what does deleting it free?"
    return Deviation("all_or_nothing", {}, look_at)


def _direction(answer: float, right: int) -> Deviation:
    """Return the advice for an answer that no known mistake explains."""
    if answer > right:
        look_at = "the storages that this name holds: each counts once, and not at all where another name holds it"
        return Deviation("more_than_it_frees", {}, look_at)
    look_at = "the storages that this name holds: which does no other name hold, and how large is each?"
    return Deviation("less_than_it_frees", {}, look_at)


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
