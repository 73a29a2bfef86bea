# SPDX-License-Identifier: Apache-2.0
"""What Arena's own charts render for command lines: the judge of `springtide.manifests`.

    KUBECONFIG=... python hack/oracle/arena_manifests.py FILE.yaml ...

Each file begins with a document `{submit: [tfjob, --name=mnist, ...]}`; what Arena hands to `kubectl apply` for that
command line replaces the rest of the file. Nothing is created. Arena asks a cluster for its CustomResourceDefinitions,
ports in use and priority classes: an empty embedded one (`tide up -d --no-nodes`) will do. For mpijob
it has to serve `kubeflow.org/v1alpha1`, which no operator does any more: apply a CustomResourceDefinition of that
version to a real control plane (`control_plane.py --bare run -- ...`), and one of TrainingJobs likewise.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import control_plane
import yaml

import arena

USER = ("kubernetes-admin", "0123456789abcdef0123456789abcdef")
"""Stands for whoever recorded."""
LOG_DIRECTORY = "/arena_logs/training123456789"
KUBECTL = """\
#!/bin/sh
# Keeps what is to be applied, and fails, so that Arena cleans up. All else succeeds.
[ "$1" = apply ] || exit 0
for last; do :; done
cp "$last" "$RENDERED"
exit 1
"""
PRIORITY = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""


def record(file: Path, home: Path) -> None:
    asked = next(yaml.safe_load_all(file.read_text()))
    rendered = home / "rendered.yaml"
    rendered.unlink(missing_ok=True)
    environment = {
        "HOME": str(home),
        "PATH": f"{home}:{os.environ['PATH']}",
        "KUBECONFIG": os.environ["KUBECONFIG"],
        "RENDERED": str(rendered),
    }
    command = [str(home / "arena"), "submit", *asked["submit"], "-n", "default"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not rendered.exists():
        sys.exit(f"{file}: {done.stdout}{done.stderr}")
    objects = [each for each in yaml.safe_load_all(_masked(rendered.read_text())) if each]
    file.write_text(yaml.safe_dump_all([asked, *objects], sort_keys=False, width=120))


def _masked(text: str) -> str:
    """Without what differs from one user or submission to the next."""
    name, identity = USER
    text = re.sub(r'(arena\.kubeflow\.org/username: )".*"', rf'\1"{name}"', text)
    text = re.sub(r'(arena\.kubeflow\.org/uid: )".*"', rf'\1"{identity}"', text)
    text = re.sub(r"(id_rsa(?:\.pub)?: )\S+", r"\1a2V5", text)  # made for every job anew
    return re.sub(r"/arena_logs/training\d+", LOG_DIRECTORY, text)


def main(files: list[str]) -> None:
    built = arena.build()
    subprocess.run([control_plane.cache() / "kubectl", "apply", "-f", "-"], input=PRIORITY, text=True, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        shutil.copytree(built / "charts", home / "charts", copy_function=shutil.copyfile)
        (home / "arena").symlink_to(built / "arena")
        (home / "arena-kubectl").write_text(KUBECTL)
        (home / "arena-kubectl").chmod(0o755)
        for file in files:
            record(Path(file), home)


if __name__ == "__main__":
    main(sys.argv[1:])
