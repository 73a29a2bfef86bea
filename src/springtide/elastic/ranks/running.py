# SPDX-License-Identifier: Apache-2.0
"""`elastic.run`: calls a training function again after the death of a rank."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from springtide.elastic.groups import BrokenError
from springtide.elastic.protocol.rank_messages import Finished
from springtide.elastic.ranks import context
from springtide.elastic.ranks.session import LauncherLostError
from springtide.elastic.ranks.state import State

P = ParamSpec("P")
R = TypeVar("R")
logger = logging.getLogger(__name__)


def run(function: Callable[Concatenate[State, P], R]) -> Callable[Concatenate[State, P], R]:
    """Wraps a training function that continues from the current values of its state.

    When a rank dies, the others return to their last commit and call the function again. Planned resizes happen inside
    `commit`, unnoticed by the function; new ranks call it with the state of the others.
    """

    @functools.wraps(function)
    def wrapped(state: State, *args: P.args, **kwargs: P.kwargs) -> R:
        _entered(state)
        while True:
            try:
                result = function(state, *args, **kwargs)
            except BrokenError as error:
                _recovered(state, str(error))
                continue
            except RuntimeError as error:
                if not context.current().lost_touch():
                    raise
                _recovered(state, str(error))
                continue
            except LauncherLostError as error:
                raise SystemExit(f"springtide: {error}") from None
            session = context.current().session
            if session is not None:
                session.send(Finished())
            return result

    return cast(Callable[Concatenate[State, P], R], wrapped)


def _entered(state: State) -> None:
    try:
        state.begin()
    except BrokenError as error:
        _recovered(state, str(error))
    except LauncherLostError as error:
        raise SystemExit(f"springtide: {error}") from None


def _recovered(state: State, why: str) -> None:
    """Retries until a generation is entered, however many ranks die meanwhile, or until the launcher ends the run."""
    while True:
        logger.warning("going back to the last commit: %s", why)
        try:
            state.recover(why)
        except BrokenError as error:
            why = str(error)
        except LauncherLostError as error:
            raise SystemExit(f"springtide: {error}") from None
        else:
            return
