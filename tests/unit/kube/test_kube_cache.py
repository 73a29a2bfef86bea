# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.cache import Cache, Replaced
from springtide.kube.resources import Key

A, B = Key("one", "a"), Key("two", "b")


def by_letter(text: str) -> list[str]:
    return list(text)


@pytest.fixture
def cache() -> Cache[str]:
    cache: Cache[str] = Cache()
    cache.add_index("letter", by_letter)
    cache.put(A, "1", "xy")
    cache.put(B, "2", "yz")
    return cache


def test_objects_are_found_by_key_namespace_and_index(cache: Cache[str]) -> None:
    assert cache.get(A) == "xy"
    assert cache.get(Key("one", "b")) is None
    assert cache.objects("one") == ["xy"]
    assert sorted(cache.objects()) == ["xy", "yz"]
    assert sorted(cache.where("letter", "y")) == ["xy", "yz"]
    assert cache.keys_where("letter", "z") == {B}
    assert (len(cache), set(cache), A in cache) == (2, {A, B}, True)


def test_a_changed_object_leaves_its_old_index_values(cache: Cache[str]) -> None:
    assert cache.put(A, "3", "w") == Replaced(A, "xy", "w")
    assert cache.where("letter", "x") == []
    assert cache.where("letter", "w") == ["w"]


def test_a_removed_object_is_gone_from_everywhere(cache: Cache[str]) -> None:
    assert cache.remove(A) == Replaced(A, "xy", None)
    assert cache.remove(A) is None
    assert cache.objects("one") == []
    assert cache.where("letter", "x") == []


def test_an_index_added_late_covers_what_is_there(cache: Cache[str]) -> None:
    cache.add_index("length", lambda text: [len(text)])
    assert sorted(cache.where("length", 2)) == ["xy", "yz"]


def test_the_same_index_may_be_added_twice_but_not_another_under_its_name(cache: Cache[str]) -> None:
    cache.add_index("letter", by_letter)
    with pytest.raises(ValueError, match="letter"):
        cache.add_index("letter", lambda text: [text])


def test_an_unknown_index_is_an_error_and_not_an_empty_answer(cache: Cache[str]) -> None:
    with pytest.raises(KeyError):
        cache.where("typo", "x")


def test_taking_over_another_reports_only_what_differs(cache: Cache[str]) -> None:
    c = Key("one", "c")
    fresh = cache.emptied()
    fresh.put(A, "1", "xy")
    fresh.put(c, "5", "new")
    cache.add_index("length", lambda text: [len(text)])
    assert sorted(cache.objects()) == ["xy", "yz"]
    assert cache.take_over(fresh) == [Replaced(B, "yz", None), Replaced(c, None, "new")]
    assert sorted(cache.objects()) == ["new", "xy"]
    assert (cache.where("letter", "n"), cache.where("letter", "z")) == (["new"], [])
    assert (cache.where("length", 3), cache.count_where("length", 2)) == (["new"], 1)


keys = st.builds(Key, st.sampled_from("mn"), st.sampled_from("abc"))


@given(st.lists(st.tuples(keys, st.one_of(st.none(), st.text("xyz", max_size=3)))))
def test_indexes_agree_with_a_plain_search_after_any_writes(writes: list[tuple[Key, str | None]]) -> None:
    cache: Cache[str] = Cache()
    cache.add_index("letter", by_letter)
    model: dict[Key, str] = {}
    for number, (key, value) in enumerate(writes):
        if value is None:
            model.pop(key, None)
            cache.remove(key)
        else:
            model[key] = value
            cache.put(key, str(number), value)
    assert {key: cache.get(key) for key in cache} == model
    for letter in "xyz":
        assert cache.keys_where("letter", letter) == {key for key, value in model.items() if letter in value}
    for namespace in "mn":
        expected = sorted(value for key, value in model.items() if key.namespace == namespace)
        assert sorted(cache.objects(namespace)) == expected
