# SPDX-License-Identifier: Apache-2.0
"""The settings of a cluster: those of `tide up`, and those of the server process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from springtide.kube.resources import Obj


@dataclass(frozen=True, slots=True)
class Nodes:
    """How the cluster's nodes are created."""

    wanted: tuple[Obj, ...] = ()
    """Node objects to create; without any, and with none from before, there is one for the whole machine."""
    isolation: str = "auto"
    """`auto` uses namespaces where this machine allows them; `none` does not."""
    strict_resources: bool = False
    fake_gpus: int | None = None
    scheduler_names: tuple[str, ...] = ()
    """Additional scheduler names that the embedded scheduler serves."""


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    name: str
    port: int
    """0 takes any free port."""
    may_move: bool = False
    """Whether another port may be used when this one is taken."""
    audit: bool = False
    verbose: bool = False
    """Formats the log for a file rather than a terminal."""
    nodes: Nodes | None = None
    """None for an API server alone."""
    operator: bool = True
    """Whether to run the operator."""
    accept_loss: bool = False
    """Whether to start although the database has lost objects."""
    flags: str = ""
    """Flags that make a `tide` command address this cluster."""


class ServerSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of the server process, as JSON on its command line."""

    data_dir: str
    name: str
    listener: int
    """The file descriptor of a bound socket."""
    tell: int
    """The file descriptor of the pipe to the supervisor."""
    audit: bool = False
    verbose: bool = False
    nodes: bool = False
    """Whether there are nodes, and therefore a scheduler."""
    holder: str = ""
    """netd's socket; empty when there is no pod network."""
    strict_resources: bool = False
    scheduler_names: tuple[str, ...] = ()
    accept_loss: bool = False
    flags: str = ""
