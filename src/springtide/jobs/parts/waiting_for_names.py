# SPDX-License-Identifier: Apache-2.0
"""An init container that waits until the name of another replica resolves, in the image of the container that trains.

That image is on the node anyway. Images without a program that looks names up wait for nothing: their programs try
again themselves, as PyTorch does for five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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


_ALIKE: Final = ("image", "imagePullPolicy", "securityContext")
_AMOUNTS: Final = ("cpu", "memory")


def add(spec: Raw, container: str, peer: str, main: Mapping[str, Any]) -> None:
    """After the user's init containers. Where `main`, the container that trains, satisfies a quota or a security level
    of its namespace, this one does as well. Its resources do not add to those of the pod."""
    waits = {
        "name": container,
        **{field: main[field] for field in _ALIKE if field in main},
        **_resources(main),
        "command": ["/bin/sh", "-c", _SCRIPT],
        "env": [{"name": "PEER", "value": peer}],
    }
    spec["initContainers"] = [*(spec.get("initContainers") or ()), waits]


def _resources(main: Mapping[str, Any]) -> Raw:
    given = main.get("resources") or {}
    kept = {
        part: {name: amount for name, amount in (given.get(part) or {}).items() if name in _AMOUNTS}
        for part in ("limits", "requests")
    }
    found = {part: amounts for part, amounts in kept.items() if amounts}
    return {"resources": found} if found else {}
