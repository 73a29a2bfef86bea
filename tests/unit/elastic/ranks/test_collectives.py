# SPDX-License-Identifier: Apache-2.0
"""Sums and means of trees, among ranks that are threads with a ring between them."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.unit.elastic.rings import together

from springtide.elastic import allreduce, broadcast
from springtide.elastic.ranks import context
from springtide.elastic.ranks.transports.ring import Ring

SMALL, LARGE = 100, 9_000_000
lengths = pytest.mark.parametrize("length", [0, 1, SMALL, 100_003])
floats = pytest.mark.parametrize("kind", ["float16", "float32", "float64", "complex64"])
whole = pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "bool"])


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> threading.local:
    """Where each thread stands."""
    now = threading.local()
    now.group = SimpleNamespace(rank=0, size=1)
    monkeypatch.setattr(context, "group", lambda: now.group)
    return now


@pytest.fixture
def among(now: threading.local) -> Callable[..., list[Any]]:
    """What each rank gets from its work."""

    def among(size: int, work: Callable[[int], Any]) -> list[Any]:
        def member(ring: Ring) -> Any:
            now.group = ring
            return work(ring.rank)

        return together(size, member)

    return among


Among = Callable[..., list[Any]]


def test_numbers_are_summed_wherever_they_stand(among: Among) -> None:
    tree = {"loss": 0.5, "right": [3, np.float32(2)], "gradient": np.ones((2, 1), dtype="float32")}
    for summed in among(3, lambda rank: allreduce(tree, average=False)):
        assert (float(summed["loss"]), [float(each) for each in summed["right"]]) == (1.5, [9.0, 6.0])
        assert (summed["gradient"].dtype, summed["gradient"].tolist()) == (np.float32, [[3.0], [3.0]])
    assert [float(each) for each in among(3, lambda rank: allreduce(2, average=False))] == [6.0] * 3


@lengths
@floats
def test_means_are_weighted(among: Among, length: int, kind: str) -> None:
    def work(rank: int) -> Any:
        return allreduce(np.full((length, 1), rank * 10, dtype=kind), weight=rank + 1)

    wanted = np.full((length, 1), (0 + 20 + 60) / 6)
    for found in among(3, work):
        assert found.dtype == kind
        np.testing.assert_allclose(found, wanted, rtol=2e-3 if kind == "float16" else 1e-6)


@lengths
@whole
@pytest.mark.parametrize("average", [True, False])
def test_whole_numbers_stay_whole(among: Among, length: int, kind: str, average: bool) -> None:
    found = among(2, lambda rank: allreduce(np.full(length, rank * 7, dtype=kind), average=average))
    wanted = np.full(length, 3 if average else 7).astype(kind)
    for each in found:
        assert each.dtype == kind
        np.testing.assert_array_equal(each, wanted)


@lengths
def test_large_whole_numbers_are_summed_exactly(among: Among, length: int) -> None:
    found = among(2, lambda rank: allreduce(np.full(length, 2**60 + rank), average=False))
    assert [set(each.tolist()) for each in found] == [{2**61 + 1} if length else set()] * 2


@pytest.mark.parametrize("length", [SMALL, 100_000])
def test_means_of_half_precision_do_not_overflow_on_their_way(among: Among, length: int) -> None:
    def work(rank: int) -> Any:
        return allreduce(np.full(length, 60_000, dtype="float16"), weight=512 + rank)

    for found in among(2, work):
        np.testing.assert_allclose(found, 60_000, rtol=2e-3)


@pytest.mark.parametrize("length", [SMALL, 100_000])
def test_ranks_without_samples_make_nothing_of_nothing(among: Among, length: int) -> None:
    assert [set(found) for found in among(2, lambda rank: allreduce(np.ones(length), weight=0))] == [{0.0}] * 2


@pytest.mark.parametrize("length", [SMALL, 100_000])
def test_what_counts_nothing_may_be_anything(among: Among, length: int) -> None:
    def work(rank: int) -> Any:
        return allreduce(np.full(length, np.nan if rank else 2.0), weight=0 if rank else 3)

    assert [set(found) for found in among(2, work)] == [{2.0}] * 2


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("size", [2, 3])
def test_all_ranks_get_the_same_bits(among: Among, size: int, average: bool) -> None:
    def work(rank: int) -> list[bytes]:
        random = np.random.default_rng(rank)
        tree = [random.standard_normal((count, 7), dtype="float32") for count in (3, 100, 20_000, 1)]
        found = allreduce([*tree, random.standard_normal(5)], weight=rank + 0.1, average=average)
        assert [each.shape for each in found] == [*(each.shape for each in tree), (5,)]
        return [each.tobytes() for each in found]

    first, *others = among(size, work)
    assert others == [first] * (size - 1)


def test_what_is_given_stays_as_it_is(among: Among) -> None:
    def work(rank: int) -> set[float]:
        given = [np.full(length, rank + 1.0) for length in (SMALL, 100_000)]
        for weight in (1.0, rank + 3.0):
            allreduce(given, weight=weight)
            allreduce(given[1], weight=weight)
            allreduce(given[1], average=False)
        return {float(number) for array in given for number in np.unique(array)}

    assert among(2, work) == [{1.0}, {2.0}]


def test_results_stay_as_long_as_somebody_holds_them(among: Among) -> None:
    def work(rank: int) -> list[tuple[float, float]]:
        held, parts = [], []
        for number in range(4):
            result = allreduce({"large": np.full(LARGE, number, dtype="float32")})["large"]
            held.append(result)
            parts.append(allreduce(np.full(LARGE, number, dtype="float32"))[:1])
        return [(float(array.min()), float(array.max())) for array in (*held, *parts)]

    assert among(2, work) == [[(number, number) for number in range(4)] * 2] * 2


UNLIKE: dict[str, tuple[Any, Any]] = {
    "shapes": (np.ones(1), np.ones(2)),
    "large shapes": (np.ones(100_000), np.ones(200_000)),
    "the same number of bytes": (np.ones((2, 3)), np.ones((3, 2))),
    "types": (np.ones(2, dtype="f4"), np.ones(1)),
    "keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "trees": ([1, [2]], [[1], 2]),
}


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("what", UNLIKE)
def test_trees_that_are_not_alike_cannot_be_summed(among: Among, what: str, average: bool) -> None:
    def work(rank: int) -> Any:
        with pytest.raises(ValueError, match="trees of the same keys"):
            allreduce(UNLIKE[what][rank], average=average)

    among(2, work)


class Pair(NamedTuple):
    gradient: Any
    loss: float


class Matrix(np.ndarray[Any, Any]):
    """Of the kind that other libraries derive from arrays."""


def test_all_kinds_of_trees_are_summed(among: Among) -> None:
    tree = {
        "pair": Pair(np.ones(2), 0.5),
        "ordered": OrderedDict(b=1.0, a=np.ones(1)),
        "default": defaultdict[str, Any](list, {"a": 2}),
        "view": MappingProxyType({"a": 1}),
        "right": np.bool_(True),
        "matrix": np.ones((1, 1)).view(Matrix),
        "complex": 1j,
        "nothing": None,
        "empty": ((), [], {}),
    }
    for found in among(2, lambda rank: allreduce(tree, average=False)):
        assert (found["pair"].gradient.tolist(), float(found["pair"].loss)) == ([2.0, 2.0], 1.0)
        assert (type(found["ordered"]), float(found["ordered"]["b"])) == (OrderedDict, 2.0)
        assert found["default"].default_factory is list
        assert (float(found["default"]["a"]), float(found["right"]), complex(found["complex"])) == (4.0, 2.0, 2j)
        assert (found["matrix"].tolist(), found["nothing"], found["empty"]) == ([[2.0]], None, ((), [], {}))


@dataclass
class Record:
    gradient: Any


class Likeness:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.ones(1)


@pytest.mark.parametrize(
    "value",
    [
        Record(np.ones(1)),
        np.array([1], dtype=object),
        Likeness(),
        "word",
        np.ma.ones(1),
        np.array(["2020"], dtype="M8"),
    ],
    ids=["dataclass", "objects", "likeness", "word", "masked", "dates"],
)
def test_what_has_no_sum_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="there is no sum of"):
        allreduce({"a": [value]})


@pytest.mark.parametrize("root", [-1, 2, 5])
def test_a_root_that_is_not_there_is_refused(among: Among, root: int) -> None:
    def work(rank: int) -> Any:
        with pytest.raises(ValueError, match=f"no rank {root} among 2"):
            broadcast(rank, root)

    among(2, work)
