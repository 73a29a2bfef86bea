# SPDX-License-Identifier: Apache-2.0
"""The hosts of a round: this machine under three names, or three machines with cables between them that can be cut.

Machines are networks of their own, joined by a switch in that of the launcher. Whoever is cut off from the others is
not told so: nobody hangs up, and what was sent is on its way for ever. Programs get to other hosts by an `ssh` of ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.integration.elastic.launching import until

NETWORK = "10.213.9"
NOWHERE = "02:00:00:00:00:99"
_SSH = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift 2; done
case "$1" in
{cases}
esac
export HOSTNAME="$1"
exec $inside sh -c "$2" 2>> {words}
"""


def available() -> bool:
    return os.getuid() == 0 and all(shutil.which(tool) for tool in ("unshare", "nsenter", "ip"))


class Names:
    """Three names for this machine."""

    hosts: tuple[str, ...] = ("127.0.0.1", "host-b", "host-c")
    inside: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.words = folder / "agents"
        """What agents say that is for nobody's ears."""
        self._tool = folder / "bin" / "ssh"
        self._tool.parent.mkdir()
        self.words.touch()
        self._write({})

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self._tool.parent}:{os.environ['PATH']}"}

    def close(self) -> None:
        pass

    def _write(self, inside: dict[str, int]) -> None:
        cases = "\n".join(f'    {host}) inside="nsenter -t {pid} -n" ;;' for host, pid in inside.items())
        self._tool.write_text(_SSH.format(cases=cases, words=self.words))
        self._tool.chmod(0o755)


class Machines(Names):
    hosts = tuple(f"{NETWORK}.{number}" for number in (1, 2, 3))

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._holders = [subprocess.Popen(["unshare", "-n", "sleep", "900"]) for _ in self.hosts]
        own = os.readlink("/proc/self/ns/net")
        until(lambda: all(os.readlink(f"/proc/{each.pid}/ns/net") != own for each in self._holders), "three networks")
        self.inside = self._within(0)
        self._wire()
        self._write(dict(zip(self.hosts[1:], (each.pid for each in self._holders[1:]), strict=True)))

    def cut(self, number: int) -> None:
        """The cable of the second or the third."""
        self._ip(0, f"link set cable{number} down")

    def mend(self, number: int) -> None:
        self._ip(0, f"link set cable{number} up")

    def part(self) -> None:
        """What the second and the third send to each other is lost; both reach the first."""
        for one, other in ((1, 2), (2, 1)):
            self._ip(one, f"neigh replace {self.hosts[other]} lladdr {NOWHERE} dev cable nud permanent")

    def join(self) -> None:
        for one, other in ((1, 2), (2, 1)):
            self._ip(one, f"neigh del {self.hosts[other]} dev cable")

    def close(self) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def _within(self, number: int) -> tuple[str, ...]:
        return ("nsenter", "-t", str(self._holders[number].pid), "-n")

    def _ip(self, number: int, *lines: str) -> None:
        command = [*self._within(number), "ip", "-batch", "-"]
        subprocess.run(command, input="\n".join(lines), text=True, check=True, capture_output=True)

    def _wire(self) -> None:
        cables = [
            line
            for number in (1, 2)
            for line in (
                f"link add cable{number} type veth peer name cable netns {self._holders[number].pid}",
                f"link set cable{number} master switch up",
            )
        ]
        self._ip(
            0,
            "link add switch type bridge",
            "link set lo up",
            "link set switch up",
            f"address add {self.hosts[0]}/24 dev switch",
            *cables,
        )
        for number in (1, 2):
            self._ip(number, "link set lo up", "link set cable up", f"address add {self.hosts[number]}/24 dev cable")
