"""Numbers of names by their places: what is asked about, and when it is asked about again."""

from __future__ import annotations

import numpy as np

from monitor.core.pairing.identities import NONE, UNKNOWN, Interner


class Asked:
    """Answers from a dictionary, and notes what it was asked."""

    def __init__(self, **known: int) -> None:
        self.known = known
        self.names: list[str] = []

    def __call__(self, name: str) -> int:
        self.names.append(name)
        return self.known.get(name, UNKNOWN)


def which(*places: int) -> np.ndarray:
    return np.array(places, dtype=np.int64)


def test_each_name_is_asked_about_once():
    asked = Asked(a=7, b=8, c=NONE)
    lookup, names = Interner(asked), ["a", "b", "c"]

    for _ in range(3):
        assert lookup.numbers(names, which(1, 0, 2, 1)).tolist() == [8, 7, NONE, 8]
    assert sorted(asked.names) == ["a", "b", "c"]


def test_a_name_without_a_number_yet_is_asked_about_again():
    asked = Asked(a=7)
    lookup, names = Interner(asked), ["a", "b"]
    assert lookup.numbers(names, which(0, 1)).tolist() == [7, UNKNOWN]
    asked.known["b"] = 9

    assert lookup.numbers(names, which(1, 1)).tolist() == [9, 9]


def test_names_may_be_added_and_what_is_forgotten_is_asked_about_again():
    asked = Asked(a=7, b=8)
    lookup, names = Interner(asked), ["a"]
    assert lookup.numbers(names, which(0)).tolist() == [7]
    names.append("b")
    assert lookup.numbers(names, which(0, 1)).tolist() == [7, 8]

    asked.known.update(a=1, b=2)
    lookup.clear()
    assert lookup.numbers(names, which(0, 1)).tolist() == [1, 2]


def test_another_list_of_names_has_other_places():
    lookup = Interner(Asked(a=7, b=8))

    assert lookup.numbers(["a", "b"], which(0, 1)).tolist() == [7, 8]
    assert lookup.numbers(["b", "a"], which(0, 1)).tolist() == [8, 7]
    assert lookup.numbers([], which()).tolist() == []
