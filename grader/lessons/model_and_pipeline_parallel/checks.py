"""Observes the answers of lesson 17, model and pipeline parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.lessons.model_and_pipeline_parallel.block_ranks import MISSING_PARTS, NO_TENSOR, OTHER_SHAPE, observe_block
from grader.lessons.model_and_pipeline_parallel.blocks import block_cases
from grader.lessons.model_and_pipeline_parallel.context_ranks import observe_contexts
from grader.lessons.model_and_pipeline_parallel.contexts import context_cases
from grader.lessons.model_and_pipeline_parallel.pipeline_ranks import OUT_OF_RANGE, observe_pipelines
from grader.lessons.model_and_pipeline_parallel.pipelines import pipeline_cases
from grader.lessons.model_and_pipeline_parallel.schedules import schedule_cases
from grader.observation import Observation
from grader.observing.arguments import tell_arguments
from grader.observing.contract import fail, require_number
from grader.observing.rank_runs import failed_place, run_on_ranks
from grader.observing.refused_meters import refuse_rank_runs
from grader.observing.running import make_check
from grader.ranks.run import RankRun
from grader.verdict import CheckFailed, NotSolvedYet

PREDICTION = ("schedule", "stages", "micro_batches", "forward", "backward", "head", "stage")
PIPELINE = ("stage", "inputs", "targets", "micro_batches", "rank", "world_size", "send", "receive")
# For each exercise: part of an exception's message; the code of the misconception, and its diagnosis.
NAMES_ITSELF = (
    "names itself",
    "names_itself",
    "You let a rank send to itself, or receive from itself. Look at how the other rank's number is computed.",
)
SHAPES_DIFFER = (
    "You combine tensors of different shapes. The shares are uneven where the ranks do not divide a dimension."
)
KNOWN_ERRORS = {
    "split_mlp": (
        (
            MISSING_PARTS,
            "no_up_and_down",
            "You return a block without the layers `up` and `down`. Keep both, each with a weight and a bias.",
        ),
        (NO_TENSOR, "no_tensor_returned", "You return no tensor from the block's forward. Look at how it ends."),
        (
            OTHER_SHAPE,
            "output_of_another_shape",
            "You return an output of another shape than the whole block. Each rank has a part of the sum of every "
            "output: add the parts up, do not join them.",
        ),
        (
            "does not require grad and does not have a grad_fn",
            "graph_missing",
            "You return an output without a graph, so nothing gets a gradient. Look for detach, .data and no_grad.",
        ),
        ("size of tensor a", "shapes_differ", SHAPES_DIFFER),
        (
            "self must be a matrix",
            "two_dimensions_only",
            "You multiply matrices only. Inputs are [..., width]: F.linear and @ take any number of dimensions.",
        ),
    ),
    "train_1f1b": (
        (
            "Mismatch in shape: grad_output",
            "gradient_of_another_shape",
            "You run backward with a gradient of another shape than the output. A rank sends `hidden.grad`, the "
            "gradient of its stage's input, which is the output of the rank before it.",
        ),
        (
            "does not require grad and does not have a grad_fn",
            "graph_missing",
            "You run backward through a tensor without a graph. What a rank receives is a new tensor: call "
            "requires_grad_() on it before the stage runs.",
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied",
            "activation_of_another_shape",
            "You run the stage on a tensor of another shape than the activation that the rank before it sent. Take "
            "what `receive` returns: stages and models differ in width.",
        ),
        (
            "grad can be implicitly created only for scalar outputs",
            "gradient_not_received",
            "You run backward without a gradient on a rank that has no loss. The next rank sends that gradient: "
            "receive it and pass it to backward().",
        ),
        (
            "send takes a tensor and a rank; its first argument is of type NoneType",
            "no_gradient_to_send",
            "You send a gradient that does not exist. Call requires_grad_() on the tensor that a rank receives, run "
            "the stage on that very tensor, without detach(), and send its .grad.",
        ),
        (
            OUT_OF_RANGE,
            "forward_repeated",
            "You call the stage more often than there are micro-batches. Each micro-batch runs forward once on each "
            "rank.",
        ),
        (
            "list index out of range",
            "no_such_micro_batch",
            "You read a list beyond its end. With fewer micro-batches than ranks, no rank runs more forward passes "
            "ahead than there are micro-batches.",
        ),
        NAMES_ITSELF,
        (
            "names rank",
            "names_no_rank",
            "You name a rank that does not exist. The first rank has none before it, the last one none after it.",
        ),
        (
            "'NoneType' object is not subscriptable",
            "data_of_another_rank",
            "You read inputs or targets on a rank that has none. Only rank 0 has inputs, only the last rank has "
            "targets.",
        ),
    ),
    "attend_in_ring": (
        NAMES_ITSELF,
        (
            "names rank",
            "names_no_rank",
            "You name a rank that does not exist. In a ring, rank 0 follows the last rank: take the number modulo "
            "world_size.",
        ),
        (
            "Expected size for first two dimensions of batch2",
            "key_and_value_of_different_ranks",
            "You merge a key and a value of different ranks, whose shares differ in length. Send both to the same "
            "neighbour in each round.",
        ),
        ("size of tensor a", "shapes_differ", SHAPES_DIFFER),
    ),
}
NEVER_CAME = ("message_never_came", "raised_connection_error")  # which rank is noticed first differs
WAITS = "You let a rank wait for a message that is never sent, or whose sender waits, too."
WHERE_IT_WAITS = {
    "split_mlp": "Every rank makes the same all-reduces in the same order.",
    "train_1f1b": "Write down for each rank what it receives before it sends, and how many forward passes it runs "
    "before its first backward pass: the last rank one, each other rank one more than the rank after it.",
    "attend_in_ring": "In a ring, every rank sends to one side and receives from the other.",
}


@make_check("predict_pipeline", PREDICTION)
def check_pipeline_predictions(predict_pipeline: Callable[..., Any], seed: int) -> Observation:
    """Ask for the idle share and the micro-batches in flight of every stage of nine pipelines."""
    predicted = []
    for case in schedule_cases(seed):
        shares, held = [], []
        for stage in range(case.stages):
            arguments = {name: stage if name == "stage" else getattr(case, name) for name in PREDICTION}
            instead = "two numbers computed from the arguments"
            with tell_arguments("predict_pipeline", **arguments), refuse_rank_runs(instead):
                answer = predict_pipeline(*arguments.values())
            if not isinstance(answer, tuple | list) or len(answer) != 2:
                found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
                look_at = "You do not return a pair. Return the idle share, then the micro-batches in flight."
                code = "returned_none" if answer is None else "no_pair"
                fail(code, "two numbers: idle share, micro-batches", found, look_at)
            shares.append(require_number(answer[0], "the idle share"))
            held.append(require_number(answer[1], "the micro-batches in flight"))
        predicted.append({"idle": shares, "in_flight": held})
    return Observation({"predicted": predicted})


@make_check("split_mlp", ("mlp", "rank", "world_size"))
def check_split_values(split_mlp: Callable[..., Any], seed: int) -> Observation:
    """Run two blocks forward and backward, on two and on three ranks."""
    return _observe_blocks(split_mlp, seed)


@make_check("split_mlp", ("mlp", "rank", "world_size"))
def check_split_share(split_mlp: Callable[..., Any], seed: int) -> Observation:
    """Run the same blocks, for what each rank holds and sends."""
    return _observe_blocks(split_mlp, seed)


@make_check("train_1f1b", PIPELINE)
def check_pipeline_gradients(train_1f1b: Callable[..., Any], seed: int) -> Observation:
    """Train a step of four models on three and on four ranks."""
    return _observe_all(observe_pipelines, train_1f1b, seed, pipeline_cases(seed), "train_1f1b")


@make_check("train_1f1b", PIPELINE)
def check_pipeline_schedule(train_1f1b: Callable[..., Any], seed: int) -> Observation:
    """Train the same steps, for the order of forwards, backwards and messages."""
    return _observe_all(observe_pipelines, train_1f1b, seed, pipeline_cases(seed), "train_1f1b")


@make_check("attend_in_ring", ("query", "key", "value", "rank", "world_size", "send", "receive"))
def check_context_parallel(attend_in_ring: Callable[..., Any], seed: int) -> Observation:
    """Attend over three sequences on three and four ranks."""
    return _observe_all(observe_contexts, attend_in_ring, seed, context_cases(seed), "attend_in_ring")


def _observe_blocks(answer: Callable[..., Any], seed: int) -> Observation:
    reports = [
        _run(observe_block, case.world_size, "split_mlp", answer=answer, seed=seed).returned
        for case in block_cases(seed)
    ]
    return _observation(reports)


def _observe_all(
    observe: Callable[..., Any], answer: Callable[..., Any], seed: int, cases: Sequence[Any], exercise: str
) -> Observation:
    """Launch the ranks once for each number of ranks, in the order of the cases."""
    reports: dict[int, list[dict[str, Any]]] = {}
    for world_size in dict.fromkeys(case.world_size for case in cases):
        run = _run(observe, world_size, exercise, answer=answer, seed=seed)
        of_this_size = [number for number, case in enumerate(cases) if case.world_size == world_size]
        reports |= dict(zip(of_this_size, map(list, zip(*run.returned, strict=True)), strict=True))
    return _observation([reports[number] for number in range(len(cases))])


def _run(observe: Callable[..., Any], world_size: int, exercise: str, **arguments: Any) -> RankRun:
    try:
        return run_on_ranks(observe, world_size, exercise, **arguments)
    except OSError as error:
        look_at = (
            "You write a class that the ranks cannot find. Use at_boundary, or define the class inside a function."
        )
        fail("class_not_for_ranks", f"{exercise} to be importable in other processes", str(error)[:200], look_at)
    except NotSolvedYet:
        raise
    except CheckFailed as failure:
        for words, code, diagnosis in KNOWN_ERRORS[exercise]:
            if words in failure.measured:
                look_at = f"{diagnosis} ({failed_place(failure.look_at)})"
                fail(code, failure.expected, f"{failure.measured}, on {world_size} ranks", look_at)
        if failure.code in NEVER_CAME:
            look_at = f"{WAITS} {WHERE_IT_WAITS[exercise]} ({failed_place(failure.look_at)})"
            fail("message_never_came", failure.expected, f"{failure.measured}, on {world_size} ranks", look_at)
        raise


def _observation(reports: Sequence[Sequence[dict[str, Any]]]) -> Observation:
    """Put together what each rank reported of each setting: tensors are named "setting.rank.name"."""
    tensors: dict[str, Tensor] = {}
    for number, ranks in enumerate(reports):
        for rank, report in enumerate(ranks):
            tensors |= {f"{number}.{rank}.{name}": value for name, value in report["tensors"].items()}
    return Observation({"settings": [[report["facts"] for report in ranks] for ranks in reports]}, tensors)
