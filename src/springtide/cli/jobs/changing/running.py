# SPDX-License-Identifier: Apache-2.0
"""`tide run`'s job: its manifest from the options and the directory, and whether the cluster can run it."""

from __future__ import annotations

import os
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from springtide.api.names import label_complaints
from springtide.cli.connecting import Target
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs.changing import run_environments
from springtide.cli.jobs.embedded import is_embedded
from springtide.kube.client import Client
from springtide.manifests.kinds.directory_job import DirectoryJob, name_of, problems
from springtide.messages import Text, text

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_DEFAULT_MAX: Final = 4
_SUFFIX: Final = 4
_ALPHABET: Final = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class Asked:
    """The options."""

    command: tuple[str, ...]
    name: str = ""
    image: str = ""
    environment: str = ""
    workers: int = 2
    min: int = 1
    max: int | None = None
    gpus: int = 0
    cpu: str = ""
    memory: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


async def is_on_this_machine(client: Client, target: Target) -> bool:
    """Whether it is an embedded cluster of this machine, whose pods see the machine's directories."""
    if target.embedded:
        return True
    return urlsplit(target.connection.server).hostname in _LOOPBACK and await is_embedded(client)


def job_of(asked: Asked, namespace: str, directory: Path, *, local: bool) -> tuple[DirectoryJob, Text]:
    """The job, and the environment that it runs in. Failure for options that cannot work."""
    _check(asked, directory, local=local)
    name = asked.name or f"{name_of(directory.name)}-{''.join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX))}"
    image, description = asked.image, text("image {image}", image=asked.image)
    if not image:
        image, description = run_environments.prepare(directory, asked.environment)
    job = DirectoryJob(
        name=name,
        namespace=namespace,
        command=asked.command,
        image=image,
        workers=asked.workers,
        min=asked.min,
        max=asked.max if asked.max is not None else max(_DEFAULT_MAX, asked.workers),
        gpus=asked.gpus,
        cpu=asked.cpu,
        memory=asked.memory,
        variables=asked.variables,
        directory=str(directory) if local else "",
        reaches_by_api=local,
    )
    if wrong := problems(job):
        raise Failure(
            text("{options} does not fit: {min} ≤ {workers} ≤ {max} does not hold.", options=", ".join(wrong),
                 min=job.min, workers=job.workers, max=job.max),
            hint=text("choose --min ≤ --workers ≤ --max"),
            code=ExitCode.USAGE,
        )  # fmt: skip
    return job, description


def _check(asked: Asked, directory: Path, *, local: bool) -> None:
    if asked.name and (complaints := label_complaints(asked.name)):
        why = text("{why}", why=complaints[0])
        raise Failure(text("{name} cannot be the name of a job.", name=asked.name), why, code=ExitCode.USAGE)
    if not local and not asked.image:
        raise Failure(
            text("This cluster is not on this machine: a job needs an image there."),
            text("its pods do not see this directory; the image holds the program and tiderun"),
            text("name it: {option}", option="--image IMAGE"),
            ExitCode.USAGE,
        )
    if not local:
        return
    if directory == Path("/"):
        raise Failure(text("The directory / cannot be mounted into pods."), code=ExitCode.USAGE)
    if missing := missing_program(asked.command, directory):
        here = sorted(each.name for each in directory.glob("*.py"))[:5]
        raise Failure(
            text("There is no {file} in {directory}.", file=missing, directory=directory),
            hint=text("the programs there: {files}", files=", ".join(here)) if here else None,
            code=ExitCode.USAGE,
        )


def missing_program(command: tuple[str, ...], directory: Path) -> str:
    """The file that Python is to run and that is not there."""
    if len(command) < 2 or not os.path.basename(command[0]).startswith("python"):
        return ""
    file = command[1]
    return "" if file.startswith("-") or (directory / file).exists() else file
