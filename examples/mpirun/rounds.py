# SPDX-License-Identifier: Apache-2.0
"""The launcher of pi.yaml: runs `mpirun` round after round, each over the hosts that are listed by then.

    python rounds.py FILE SCRIPT    # the file says how many rounds, and may change meanwhile; the script lists hosts

A plain mpirun keeps the hosts it was started with, so a job that is resized goes on with its new workers in the next
round; what was counted so far is kept here. Standard library only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LONGEST = 20.0
"""Seconds for a round, which takes two: mpirun may wait for ever for a host that is gone."""
PART = Path(__file__).with_name("part.py")


class Counted(NamedTuple):
    points: int
    inside: int
    hosts: list[str]


def hosts(script: str) -> list[str]:
    """Lines of NAME:SLOTS, none while nobody is ready."""
    return subprocess.run([script], capture_output=True, text=True).stdout.split()


def counted(listed: list[str], number: int) -> Counted | None:
    """By one rank for each host; None when a host went away meanwhile, so that the round counts for nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
        file.writelines(f"{host.replace(':', ' slots=')}\n" for host in listed)
        file.flush()
        command = ["mpirun", "--allow-run-as-root", "--hostfile", file.name, "-np", str(len(listed))]
        command += ["-bind-to", "none", "-map-by", "node", "python", str(PART), str(number)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"round {number + 1:2}  is begun anew: {error}", flush=True)
            return None
    return Counted(*json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    number = points = inside = 0
    while number < int(Path(sys.argv[1]).read_text()):
        listed = hosts(sys.argv[2])
        found = counted(listed, number) if listed else None
        if found is None:
            time.sleep(0.5)
            continue
        number, points, inside = number + 1, points + found.points, inside + found.inside
        ranks = f"{len(found.hosts)} ranks on {' '.join(found.hosts)}"
        print(f"round {number:2}  pi = {4 * inside / points:.5f} after {points:,} points  {ranks}", flush=True)


if __name__ == "__main__":
    main()
