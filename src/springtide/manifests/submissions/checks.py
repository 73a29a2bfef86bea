# SPDX-License-Identifier: Apache-2.0
"""Problems of a submission that show without asking the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Final

from springtide.manifests.kinds import tfjob
from springtide.manifests.parts.labels import RESERVED
from springtide.manifests.submissions import type_checks
from springtide.manifests.submissions.parsing import is_qualified
from springtide.manifests.submissions.problems import Problem, malformed, missing, too_small, unknown
from springtide.manifests.submissions.submission import EtJob, LauncherJob, MpiJob, Pairs, PyTorchJob, Submission, TfJob
from springtide.messages import Text, text

LONGEST_NAME: Final = 49
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
"""Hosts are named after it; Arena also lets through what begins with a digit, which no operator accepts."""
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LONGEST_VALUE: Final = 63
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_SYNC_MODES: Final = ("git", "rsync")

_OF_TYPES: Final[tuple[tuple[type[Submission], Callable[[Any], Iterator[Problem]]], ...]] = (
    (LauncherJob, type_checks.launcher_job),
    (MpiJob, type_checks.mpijob),
    (PyTorchJob, type_checks.pytorchjob),
    (TfJob, type_checks.tfjob),
)


def problems(submission: Submission) -> list[Problem]:
    """All of them, in the order of Arena's checks, which names the first one only."""
    if not _is_text(asdict(submission)):
        cause = text("it has bytes that are not UTF-8")
        return [Problem("", cause, text("write it in UTF-8, which is what containers are given"))]
    found = [*_name(submission), *_common(submission)]
    for type_, check in _OF_TYPES:
        if isinstance(submission, type_):
            found += check(submission)
    return found


def _is_text(value: Any) -> bool:
    """Python hands over bytes of a command line that are no UTF-8 as surrogates, which no object can hold."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(_is_text(name) and _is_text(part) for name, part in value.items())
    return not isinstance(value, (list, tuple)) or all(_is_text(part) for part in value)


def unheeded(submission: Submission, embedded: bool = False) -> list[Text]:
    """Flags that change nothing, for the user to know at submit; `embedded`: on the embedded cluster."""
    found = tfjob.unheeded(submission) if isinstance(submission, TfJob) else []
    if isinstance(submission, EtJob) and submission.spot_instance:
        found.append(
            text("--spot-instance changes nothing: workers may run on nodes that can be taken away without it, too")
        )
    if embedded and submission.gang:
        found.append(
            text(
                "--gang has no effect on the embedded cluster, whose scheduler reads PodGroups: "
                "start the cluster with tide up --no-operator, and tide operator --gang-scheduling default-scheduler"
            )
        )
    if embedded and isinstance(submission, MpiJob) and submission.gpu_topology:
        found.append(
            text(
                "--gputopology does not place workers by the connections of GPUs on the embedded cluster: "
                "its scheduler does not know them, and its nodes need the resource aliyun.com/gpu"
            )
        )
    return found


def _name(submission: Submission) -> Iterator[Problem]:
    name = submission.name
    if not name:
        yield missing("--name", "--name must be set")
    elif len(name) > LONGEST_NAME:
        arena = f"the len {len(name)} of name {name} is too long, it should be less than {LONGEST_NAME}"
        cause = text("{name} has {length} characters", name=name, length=len(name))
        yield Problem("--name", cause, text("choose a name of at most {limit} characters", limit=LONGEST_NAME), arena)
    elif _NAME.fullmatch(name) is None:
        arena = (
            "the job name must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        cause = text("{name} cannot be part of the names of pods", name=repr(name))
        hint = text("use lower-case letters, digits and '-', with a letter first and a letter or digit last")
        yield Problem("--name", cause, hint, arena)


def _common(submission: Submission) -> Iterator[Problem]:
    yield from _counts(submission)
    yield from _labels(submission)
    yield from _mounts(submission)
    yield from _code_sync(submission)
    if submission.image_pull_policy not in _PULL_POLICIES:
        yield unknown("--image-pull-policy", submission.image_pull_policy, _PULL_POLICIES)
    if submission.model_name and not submission.model_source:
        arena = "model version source must be specified when registering a model version"
        yield missing("--model-source", arena)


def _counts(submission: Submission) -> Iterator[Problem]:
    if submission.gpus < 0:
        yield too_small("--gpus", submission.gpus, 0, "--gpus is invalid")
    if submission.retry < 0:
        yield too_small("--retry", submission.retry, 0)
    if submission.workers < 1 and not isinstance(submission, (EtJob, TfJob)):  # which have bounds of their own
        yield too_small("--workers", submission.workers, 1)


def _labels(submission: Submission) -> Iterator[Problem]:
    for name in submission.labels:
        if name in RESERVED:
            cause = text("the label {name} is written by submit", name=name)
            yield Problem("--label", cause, text("choose another name"))
    for flag, keys in (
        ("--label", submission.labels),
        ("--annotation", submission.annotations),
        ("--selector", submission.node_selector),
    ):
        yield from (
            malformed(flag, key, "[DOMAIN/]NAME", f"{flag} team=vision") for key in keys if not is_qualified(key)
        )
    yield from _label_values("--label", submission.labels)
    yield from _label_values("--selector", submission.node_selector)


def _label_values(flag: str, labels: Pairs) -> Iterator[Problem]:
    for value in labels.values():
        if len(value) > _LONGEST_VALUE or _LABEL_VALUE.fullmatch(value) is None:
            cause = text("{value} cannot be the value of a label", value=repr(value))
            hint = text("use at most {limit} letters, digits, '-', '_' and '.'", limit=_LONGEST_VALUE)
            yield Problem(flag, cause, hint)


def _mounts(submission: Submission) -> Iterator[Problem]:
    """Kubernetes mounts one volume per path."""
    mounted = [("--data", claim.path) for claim in submission.claims]
    mounted += [("--data-dir", directory.path) for directory in submission.host_directories]
    mounted += [("--config-file", directory) for directory in {file.directory for file in submission.config_files}]
    taken = set()
    for flag, path in mounted:
        if path.rstrip("/") in taken:
            cause = text("two volumes are mounted at {path}", path=path)
            yield Problem(flag, cause, text("give each a path of its own"))
        taken.add(path.rstrip("/"))


def _code_sync(submission: Submission) -> Iterator[Problem]:
    sync = submission.code_sync
    if sync is None:
        return
    if sync.mode not in _SYNC_MODES:
        arena = f"Unknown sync mode: {sync.mode}, it should be git or rsync"
        yield unknown("--sync-mode", sync.mode, _SYNC_MODES, arena)
    elif not sync.source:
        yield missing("--sync-source", "--syncSource should be set when syncMode is set")
