import os
from pathlib import Path

import pytest
import torch

from grader.classroom.jobs.seeds import LARGEST_SEED
from grader.judging.lessons.checkpoint_and_resume.parts import parts_needed
from grader.judging.lessons.checkpoint_and_resume.saving import KILLS, ORDER, Order, Saves
from grader.lessons.checkpoint_and_resume.forms import forms_case
from grader.lessons.checkpoint_and_resume.parts import PARTS, run_cases, run_parts
from grader.lessons.checkpoint_and_resume.saving import observe_kills, observe_order, save_cases
from grader.lessons.checkpoint_and_resume.training import state_case, training_cases

SEEDS = range(20)


def replace_file(path: Path, write):
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def overwrite(path: Path, write):
    with path.open("wb") as file:
        write(file)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_part_is_needed_by_some_runs_and_not_by_others(seed):
    answers = [run_parts(parts_needed, run) for run in run_cases(seed)]
    for part in PARTS:
        assert {answer[part] for answer in answers} == {False, True}


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_are_within_their_epoch(seed):
    for run in run_cases(seed):
        assert 0 < run["micro_batch"] <= run["micro_batches"]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_run_is_stopped_within_an_epoch_that_is_not_its_first(seed):
    for case in training_cases(seed):
        micro_batches = -(-case.examples // case.rows)
        updates = -(-micro_batches // case.k)
        within = [stop for stop in case.stops if stop % updates]
        assert within
        assert all(stop > updates for stop in within)
        assert case.updates >= (within[-1] // updates + 1) * updates  # the next epoch's order is seen as well
    assert 4 in training_cases(seed)[1].stops  # seven micro-batches are four updates: the end of an epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_the_run_whose_states_are_compared_stays_in_its_first_epoch(seed):
    case = state_case(seed)
    assert case.updates * case.k * case.rows < case.examples


@pytest.mark.parametrize("seed", [0, 1])
def test_killed_saves_in_place_are_found_out_and_those_with_a_rename_are_right(seed):
    for case in save_cases(seed):
        for save, is_right in ((replace_file, True), (overwrite, False)):
            facts = observe_kills(save, case)
            saves = Saves(case, facts["seen"], facts["kills"])
            assert saves.is_right == is_right
            assert all(killed for _, killed, *_ in facts["kills"])
            if not is_right:
                assert KILLS.find(saves).code == "opened_in_place"
                assert ORDER.find(Order(case, observe_order(save, case))).code == "not_moved_into_place"


def test_a_traced_save_reports_its_calls_in_order():
    facts = observe_order(replace_file, save_cases(0)[1])
    assert facts["events"] == ["synced", "moved"]
    assert facts["after_error"] == {"error": "same", "found": "old", "left": 1}


def test_rows_of_a_case_differ():
    for case in training_cases(3):
        inputs = case.make_dataset().tensors[0]
        assert len(torch.unique(inputs, dim=0)) == case.examples


@pytest.mark.parametrize("seed", [*SEEDS, LARGEST_SEED - 1])
def test_a_form_is_killed_before_its_first_save_within_a_group_and_in_the_last_epoch(seed):
    case = forms_case(seed)
    early, within, late = case.kills
    assert early <= case.k
    assert within > case.micro_batches
    assert (within - 1) % case.micro_batches % case.k > 0
    assert 2 * case.micro_batches < late <= case.epochs * case.micro_batches
    assert case.micro_batches % case.k > 0
    assert case.seed < 2**32  # numpy takes no more
