# SPDX-License-Identifier: Apache-2.0
"""What a cluster is started with: by `tide up`, and, what the server needs of it, in its own process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from springtide.kube.resources import Obj


@dataclass(frozen=True, slots=True)
class Nodes:
    """How the cluster's nodes are made."""

    wanted: tuple[Obj, ...] = ()
    """Node objects that must be there; without any, and with none from before, there is one for the whole machine."""
    isolation: str = "auto"
    """`auto` takes namespaces where this machine allows them; `none` does without."""
    strict_resources: bool = False
    fake_gpus: int | None = None
    scheduler_names: tuple[str, ...] = ()
    """More names that our scheduler answers to."""


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    name: str
    port: int
    """0 takes any free one."""
    may_move: bool = False
    """Whether another port will do when this one is taken."""
    audit: bool = False
    verbose: bool = False
    """For a log that somebody reads later, rather than a terminal."""
    nodes: Nodes | None = None
    """None for an API server alone."""
    operator: bool = True
    """Whether an operator comes with the cluster."""
    accept_loss: bool = False
    """Whether to start although the database has lost objects."""
    flags: str = ""
    """What to add to a `tide` command so that it means this cluster."""


class ServerSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The same for the server process, as JSON on its command line."""

    data_dir: str
    name: str
    listener: int
    """The file descriptor of a bound socket."""
    tell: int
    """The file descriptor of the pipe to the supervisor."""
    audit: bool = False
    verbose: bool = False
    nodes: bool = False
    """Whether there are nodes, and so a scheduler."""
    holder: str = ""
    """The network holder's socket; empty when pods have no network of their own."""
    strict_resources: bool = False
    scheduler_names: tuple[str, ...] = ()
    accept_loss: bool = False
    flags: str = ""
