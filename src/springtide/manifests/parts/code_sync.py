# SPDX-License-Identifier: Apache-2.0
"""Code that an init container fetches into the pods, with git or rsync.

The container has what `--env` says, so that users name a branch or an account by git-sync's variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.manifests.parts import environment_variables, resources
from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.parts.volumes import Mounted
from springtide.manifests.submissions.submission import CodeSync, Compute, Submission

GIT: Final = "git"
RSYNC: Final = "rsync"
CONTAINER: Final = "init-code"
IMAGES: Final = {
    GIT: "registry.cn-zhangjiakou.aliyuncs.com/acs/git-sync:v3.3.5",
    RSYNC: "registry.cn-zhangjiakou.aliyuncs.com/acs/rsync:v3.1.0-aliyun",
}
_VOLUME: Final = "code-sync"
_ROOT: Final = "/code"


def image(sync: CodeSync) -> str:
    return sync.image or IMAGES[sync.mode]


def volumes(submission: Submission) -> list[Mounted]:
    """The code, in a directory `code` of the working directory."""
    if submission.code_sync is None:
        return []
    return [Mounted({"name": _VOLUME, "emptyDir": {}}, f"{submission.working_directory}{_ROOT}")]


def init_containers(submission: Submission, variables: Mapping[str, str], compute: Compute) -> list[Obj]:
    sync = submission.code_sync
    if sync is None:
        return []
    own = _git_variables(sync) if sync.mode == GIT else {}
    container = filled(
        name=CONTAINER,
        image=image(sync),
        imagePullPolicy=submission.image_pull_policy,
        command=["rsync", "-avP", sync.source, _ROOT] if sync.mode == RSYNC else [],
        resources=resources.of_code_sync(compute),
        env=environment_variables.as_list({**variables, **own}),
        volumeMounts=[{"name": _VOLUME, "mountPath": _ROOT}],
    )
    return [container]


def _git_variables(sync: CodeSync) -> dict[str, str]:
    return {
        "GIT_SYNC_REPO": sync.source,
        "GIT_SYNC_DEST": project(sync.source),
        "GIT_SYNC_ROOT": _ROOT,
        "GIT_SYNC_ONE_TIME": "true",
    }


def project(source: str) -> str:
    """The name of a repository, which its directory below `code` gets."""
    last = source.strip("/").rpartition("/")[2]
    return last.partition(".git")[0]
