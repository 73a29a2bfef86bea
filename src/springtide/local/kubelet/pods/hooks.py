# SPDX-License-Identifier: Apache-2.0
"""postStart and preStop hooks: a command, an HTTP request or a sleep, for a container that is running."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import exec_commands
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.probes import connections
from springtide.local.kubelet.probes.answers import ProbeError
from springtide.local.kubelet.specs import pod_specs
from springtide.local.runtime.shim_client import Shim, ShimError


class HookError(Exception):
    """The hook failed; the message has kubelet's wording."""


async def run(handler: Obj, container: Mapping[str, Any], pod: LocalPod) -> None:
    """Run a hook to its end. HookError when it fails; the caller sets the timeout."""
    shim = pod.shim
    if shim is None:
        raise HookError(f"the sandbox of pod {pod_specs.long_name(pod.obj)} is gone")
    place = f'for Container "{container["name"]}" in Pod "{pod_specs.long_name(pod.obj)}" failed'
    if "exec" in handler:
        await _exec(handler["exec"].get("command") or [], container, shim, place)
    elif "httpGet" in handler:
        await _http(handler["httpGet"], container, pod.address, shim, place)
    elif "sleep" in handler:
        await asyncio.sleep(float(handler["sleep"]["seconds"]))
    else:
        raise HookError(f"Cannot run handler: invalid handler: {handler}")


async def _exec(command: list[str], container: Mapping[str, Any], shim: Shim, place: str) -> None:
    hook = f"Exec lifecycle hook ([{' '.join(command)}]) {place}"
    try:
        outcome = await exec_commands.run(shim, container["name"], command)
    except ShimError as error:
        raise HookError(f'{hook} - error: {error}, message: ""') from error
    if outcome.code != 0:
        why = f"command '{' '.join(command)}' exited with {outcome.code}: {outcome.output}"
        raise HookError(f'{hook} - error: {why}, message: "{outcome.output}"')


async def _http(action: Obj, container: Mapping[str, Any], address: str, shim: Shim, place: str) -> None:
    """Every response counts as success, whatever its status code."""
    try:
        answer = await connections.ask_http(action, container, address, partial(shim.socket, "tcp"))
    except (ProbeError, ShimError) as error:
        raise HookError(f"HTTP lifecycle hook ({action.get('path', '')}) {place} - error: {error}") from error
    if not answer.healthy and not answer.output.startswith("HTTP probe failed with statuscode"):
        raise HookError(f"HTTP lifecycle hook ({action.get('path', '')}) {place} - error: {answer.output}")
