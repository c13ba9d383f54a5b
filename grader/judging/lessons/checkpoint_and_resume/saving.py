"""Judges an atomic save: what a kill leaves, and the order of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.checkpoint_and_resume.saving import SaveCase, save_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

WORDS = {
    "old": "the old content",
    "new": "the new content",
    "missing": "no file",
    "cut": "a part of the new content, in the old file",
    "replaced_by_cut": "a new file that holds only a part",
    "refused": "FileExistsError",
}


def judge_killed_saves(observation: Observation, seed: int) -> Verdict:
    """Judge what a reader finds after a kill, at any moment."""
    count = 0
    for case, facts in zip(save_cases(seed), observation.facts["saves"], strict=True):
        saves = Saves(case, facts["seen"], facts["kills"])
        if not saves.is_right:
            return KILLS.explain(
                saves,
                expected="the old content or the new one, whole, whenever the save is killed",
                measured=saves.measured,
                otherwise="You leave the reader something else. List the files that exist after each of your lines.",
            )
        count += len(saves.kills)
    return Verdict(PASSED, "", f"{count} saves killed at a byte, and each moment between two calls: old or new, whole")


def judge_saved_order(observation: Observation, seed: int) -> Verdict:
    """Judge the order of the calls of a save, and what a failed one leaves."""
    for case, facts in zip(save_cases(seed), observation.facts["saves"], strict=True):
        order = Order(case, facts)
        if not order.is_right:
            return ORDER.explain(
                order,
                expected="write, flush, fsync, replace; after an error, the old file alone and the same error",
                measured=order.measured,
                otherwise="You make these calls in another order. Write them down, and what each of them guarantees.",
            )
    return Verdict(PASSED, "", "on the disk before the rename, nothing left over, and errors go on")


@dataclass(frozen=True, eq=False)
class Saves:
    """What was found between the calls of a save, and after kills within them.

    Attributes:
        case: The save.
        seen: What was found, and how often `write` had returned, once for each change.
        kills: Bytes, whether the process was killed, what was found, and what one more save leaves.
    """

    case: SaveCase
    seen: list[list[Any]]
    kills: list[list[Any]]

    @property
    def found(self) -> list[str]:
        """All that was found."""
        return [found for found, _ in self.seen] + [kill[2] for kill in self.kills]

    @property
    def writes(self) -> int:
        """How often `write` returned."""
        return int(self.seen[-1][1])

    @property
    def is_right(self) -> bool:
        """Whether a reader always finds the old content or the new one, and the new one in the end."""
        is_last = self.seen[-1][0] == "new" and all(kill[3] == "new" for kill in self.kills)
        return is_last and set(self.found) <= {"old", "new"} and self.writes == 1

    @property
    def measured(self) -> str:
        """The first thing that is wrong."""
        other = next((found for found in self.found if found not in ("old", "new")), None)
        if other:
            return f"{WORDS[other]}, after a kill in the middle of the save"
        if self.seen[-1][0] != "new":
            return f"{WORDS[self.seen[-1][0]]}, at the end of the save"
        later = next((kill[3] for kill in self.kills if kill[3] != "new"), None)
        return f"{WORDS[later]}, in the save after the killed one" if later else f"write called {self.writes} times"

    def finds(self, what: str, *, is_written: bool) -> bool:
        """Return whether something was found before or after `write` had returned."""
        return any(found == what and bool(writes) == is_written for found, writes in self.seen)


KILLS = Table[Saves](
    Misconception(
        "write_not_called_once",
        "You call `write` {writes} times. Call it once, with the file that you opened.",
        shown_by=lambda saves: saves.writes != 1,
    ),
    Misconception(
        "old_file_removed_first",
        "You remove or rename the old file before the new one is in its place. A kill in between leaves nothing. "
        "`os.replace` does both in one step.",
        shown_by=lambda saves: "missing" in saves.found,
    ),
    Misconception(
        "opened_in_place",
        "You open the checkpoint itself for writing, which empties it. Write another file, and rename that one.",
        shown_by=lambda saves: saves.finds("cut", is_written=False),
    ),
    Misconception(
        "copied_over_the_old_file",
        "You copy the new content into the checkpoint, and a kill during the copy leaves a part. A rename has no "
        "middle.",
        shown_by=lambda saves: "cut" in saves.found,
    ),
    Misconception(
        "replaced_before_the_file_is_complete",
        "You rename the new file while some of its bytes are still in Python's buffer, or before it is written at all. "
        "Close it first.",
        shown_by=lambda saves: "replaced_by_cut" in saves.found,
    ),
    Misconception(
        "never_renamed",
        "You write the new content, but not to `path`: a reader still finds the old one at the end.",
        shown_by=lambda saves: saves.seen[-1][0] == "old",
    ),
    Misconception(
        "blocked_by_a_left_over",
        "You do not write where a temporary file exists, so one killed save blocks all later ones.",
        shown_by=lambda saves: any(kill[3] in ("refused", "old") for kill in saves.kills),
    ),
    Misconception(
        "appended_to_a_left_over",
        "You append to what a killed save left in the temporary file. Open it so that it starts empty.",
        shown_by=lambda saves: any(kill[3] == "cut" for kill in saves.kills),
    ),
)


@dataclass(frozen=True, eq=False)
class Order:
    """The calls of one save, and what a save leaves whose `write` fails.

    Attributes:
        case: The save.
        facts: What was recorded.
    """

    case: SaveCase
    facts: dict[str, Any]

    @property
    def events(self) -> list[str]:
        """The calls, in order."""
        return list(self.facts["events"])

    @property
    def after_error(self) -> dict[str, Any]:
        """What the failed save left."""
        return dict(self.facts["after_error"])

    @property
    def error(self) -> str:
        """The error that came out of the failed save."""
        return str(self.after_error["error"])

    @property
    def is_right(self) -> bool:
        """Whether the order is right, nothing is left over, and an error goes on."""
        is_moved = "moved" in self.events and not {"moved_unsynced", "moved_from_elsewhere"} & set(self.events)
        is_clean = not self.facts["left"] and not self.facts["is_open"] and self.facts["found"] == "new"
        return is_moved and is_clean and self.after_error == {"error": "same", "found": "old", "left": 0}

    @property
    def measured(self) -> str:
        """What was recorded, in words."""
        left, after = self.facts["left"], self.after_error
        return (
            f"{', '.join(self.events).replace('_', ' ') or 'no call'}; {left} files left over; after an error: "
            f"{WORDS.get(after['found'], after['found'])}, {after['left']} files left over, error: {after['error']}"
        )


ORDER = Table[Order](
    Misconception(
        "new_content_not_in_place",
        "You do not leave the new content in `path`. The check above says when it is lost.",
        shown_by=lambda order: order.facts["found"] != "new",
    ),
    Misconception(
        "temporary_file_elsewhere",
        "You write the temporary file in another folder. That may be another file system, where a rename becomes a "
        "copy or fails. Use the checkpoint's folder.",
        shown_by=lambda order: "moved_from_elsewhere" in order.events,
    ),
    Misconception(
        "not_moved_into_place",
        "You do not use a rename to put the new content in place. Only `os.replace` has no middle.",
        shown_by=lambda order: not {"moved", "moved_unsynced"} & set(order.events),
    ),
    Misconception(
        "never_synced",
        "You never wait for the data to reach the disk. After a power cut, the renamed file may be empty: call "
        "`os.fsync` on it first.",
        shown_by=lambda order: not {"synced", "synced_too_little"} & set(order.events),
    ),
    Misconception(
        "not_flushed_before_fsync",
        "You call `os.fsync` while bytes are still in Python's buffer, which the system has not seen. Call flush() and "
        "then fsync, both after `write`.",
        shown_by=lambda order: "synced_too_little" in order.events and "synced" not in order.events,
    ),
    Misconception(
        "renamed_before_the_data_is_on_disk",
        "You rename first and call `os.fsync` afterwards. After a power cut in between, the name may exist without "
        "its data.",
        shown_by=lambda order: "moved_unsynced" in order.events,
    ),
    Misconception(
        "file_left_open",
        "You leave the file open. Close it, best with a `with` block.",
        shown_by=lambda order: order.facts["is_open"],
    ),
    Misconception(
        "temporary_file_left",
        "You leave a second file behind after a save that worked.",
        shown_by=lambda order: order.facts["left"] > 0,
    ),
    Misconception(
        "old_file_lost_after_an_error",
        "You remove the old file although `write` failed. Touch it only by the rename of a complete file.",
        shown_by=lambda order: order.after_error["found"] == "missing",
    ),
    Misconception(
        "half_a_file_put_in_place",
        "You put the file in place although `write` failed. Rename only what is complete.",
        shown_by=lambda order: order.after_error["found"] != "old",
    ),
    Misconception(
        "error_swallowed",
        "You hide the error of `write`: the run would continue and believe that it is saved. Raise it again.",
        shown_by=lambda order: order.error == "none",
    ),
    Misconception(
        "another_error_raised",
        "You raise {error} where `write` raised another error. Clean up and raise the same one again.",
        shown_by=lambda order: order.error != "same",
    ),
    Misconception(
        "temporary_file_left_after_an_error",
        "You leave the temporary file behind when `write` fails. With large checkpoints, the disk that was full stays "
        "full.",
        shown_by=lambda order: order.after_error["left"] > 0,
    ),
)
