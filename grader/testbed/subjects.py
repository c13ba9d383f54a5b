"""The words that the sentence pairs are written from: subjects that share no noun, verb or place."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """The forms of a regular verb: `past` is also its participle."""

    base: str
    past: str
    gerund: str


class Subject(NamedTuple):
    """What a sentence may be about; the words used most come first, and each verb takes each object."""

    name: str
    agents: tuple[str, ...]
    verbs: tuple[Verb, ...]
    objects: tuple[str, ...]
    places: tuple[str, ...]


SUBJECTS = (
    Subject(
        "cooking",
        ("the chef", "the cook", "the caterer", "the waiter", "the baker"),
        (
            Verb("taste", "tasted", "tasting"),
            Verb("season", "seasoned", "seasoning"),
            Verb("stir", "stirred", "stirring"),
            Verb("simmer", "simmered", "simmering"),
        ),
        ("the soup", "the sauce", "the stew", "the broth", "the gravy"),
        ("in the kitchen", "on the stove", "over a flame", "near the oven"),
    ),
    Subject(
        "sailing",
        ("the sailor", "the skipper", "the captain", "the deckhand", "the navigator"),
        (
            Verb("moor", "moored", "mooring"),
            Verb("steer", "steered", "steering"),
            Verb("launch", "launched", "launching"),
            Verb("anchor", "anchored", "anchoring"),
        ),
        ("the boat", "the yacht", "the dinghy", "the schooner", "the ferry"),
        ("in the harbour", "off the coast", "against the tide", "near the jetty"),
    ),
    Subject(
        "gardening",
        ("the gardener", "the florist", "the botanist", "the landscaper", "the beekeeper"),
        (
            Verb("prune", "pruned", "pruning"),
            Verb("water", "watered", "watering"),
            Verb("plant", "planted", "planting"),
            Verb("trim", "trimmed", "trimming"),
        ),
        ("the rose", "the hedge", "the shrub", "the vine", "the lavender"),
        ("in the greenhouse", "behind the shed", "along the fence", "beside the compost"),
    ),
    Subject(
        "music",
        ("the pianist", "the violinist", "the composer", "the soprano", "the drummer"),
        (
            Verb("rehearse", "rehearsed", "rehearsing"),
            Verb("record", "recorded", "recording"),
            Verb("compose", "composed", "composing"),
            Verb("hum", "hummed", "humming"),
        ),
        ("the melody", "the sonata", "the symphony", "the ballad", "the overture"),
        ("on the stage", "in the studio", "at the concert", "during the festival"),
    ),
)
