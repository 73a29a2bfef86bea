# SPDX-License-Identifier: Apache-2.0
"""What programs may ask for when values of all ranks become one."""

from __future__ import annotations

import pytest

from springtide.elastic.horovod import reduction
from springtide.elastic.horovod.reduction import Adasum, Average, Max, Sum, chosen, predivided


def test_the_mean_unless_a_sum_is_asked_for() -> None:
    assert chosen().divisor(4) == 4
    assert chosen(Sum).divisor(4) == chosen(average=False).divisor(4) == 1
    assert chosen(average=True) == chosen(Average)
    assert chosen(Average, after=2.0).divisor(4) == 2


def test_what_is_not_offered_is_refused_with_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"Adasum is not offered. Use op=hvd.Average"):
        chosen(Adasum)
    with pytest.raises(NotImplementedError, match=r"op=Max is not offered"):
        chosen(Max)
    with pytest.raises(NotImplementedError, match=r"op=7 is not offered"):
        chosen(7)
    with pytest.raises(ValueError, match="set the same option"):
        chosen(Sum, average=True)


def test_part_of_the_division_may_come_before_the_sum() -> None:
    scaling = predivided(Average, 2.0)
    assert (scaling.before, scaling.divisor(8)) == (0.5, 4)
    assert predivided(Sum, 1.0) == chosen(Sum)
    with pytest.raises(ValueError, match=r"requires op=hvd.Average"):
        predivided(Sum, 2.0)


def test_all_words_are_there() -> None:
    assert set(reduction.__all__) == {"Adasum", "Average", "Max", "Min", "Product", "Sum"}
