# SPDX-License-Identifier: Apache-2.0
"""`hvd.elastic.run`: calls the training function again after every change of the group, as Horovod does."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Concatenate, ParamSpec, TypeVar, cast

from springtide.elastic.groups import BrokenError
from springtide.elastic.horovod import world
from springtide.elastic.horovod.states import HostsUpdatedInterrupt, State
from springtide.elastic.protocol.rank_messages import Finished
from springtide.elastic.ranks import context
from springtide.elastic.ranks.session import LauncherLostError

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=State)
logger = logging.getLogger(__name__)

Translation = Callable[[], AbstractContextManager[object]]
"""Turns a framework's exception for a BrokenError back into one."""


def run(
    function: Callable[Concatenate[S, P], R], translation: Translation = nullcontext
) -> Callable[Concatenate[S, P], R]:
    @functools.wraps(function)
    def wrapped(state: S, *args: P.args, **kwargs: P.kwargs) -> R:
        world.become_elastic()
        enter: Callable[[], None] = state.begin
        while True:
            try:
                enter()
                with translation():
                    result = function(state, *args, **kwargs)
            except HostsUpdatedInterrupt as interrupt:
                enter = _resumption(state, interrupt)
            except BrokenError as error:
                logger.warning("going back to the last commit: %s", error)
                enter = functools.partial(state.recover, str(error))
            except RuntimeError as error:
                if not context.current().lost_touch():
                    raise
                logger.warning("going back to the last commit: %s", error)
                enter = functools.partial(state.recover, str(error))
            except LauncherLostError as error:
                raise SystemExit(f"springtide: {error}") from None
            else:
                _finish()
                return result

    return cast(Callable[Concatenate[S, P], R], wrapped)


def _resumption(state: State, interrupt: HostsUpdatedInterrupt) -> Callable[[], None]:
    """How to resume; a program may raise the interrupt itself, to be called again."""
    return functools.partial(state.resume, interrupt.entry) if interrupt.entry else state.on_reset


def _finish() -> None:
    session = context.current().session
    if session is not None:
        session.send(Finished())
