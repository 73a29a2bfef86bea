# SPDX-License-Identifier: Apache-2.0
"""An init container that waits until the name of another replica resolves, in the image of the container that trains.

That image is on the node anyway. Images without a program that looks names up wait for nothing: their programs try
again themselves, as PyTorch does for five minutes.
"""

from __future__ import annotations

from typing import Any, Final

from springtide.jobs.parts import pod_templates

Raw = dict[str, Any]

_SCRIPT: Final = """\
if command -v getent >/dev/null; then look_up() { getent hosts "$PEER"; }
elif command -v nslookup >/dev/null; then look_up() { nslookup "$PEER"; }
else echo "not waiting for $PEER: this image has neither getent nor nslookup"; exit 0; fi
seconds=0
until look_up >/dev/null 2>&1; do
  [ $((seconds % 10)) -ne 0 ] || echo "waiting for $PEER, which is not ready yet ($seconds s)"
  seconds=$((seconds + 1))
  sleep 1
done
echo "$PEER is ready"
"""


def add(spec: Raw, container: str, peer: str, main: str) -> None:
    """After the user's init containers; `main` is the container that trains."""
    waits = {
        "name": container,
        **pod_templates.alike(spec, main),
        "command": ["/bin/sh", "-c", _SCRIPT],
        "env": [{"name": "PEER", "value": peer}],
    }
    spec["initContainers"] = [*(spec.get("initContainers") or ()), waits]
