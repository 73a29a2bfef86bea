# SPDX-License-Identifier: Apache-2.0
"""Whatever users write into a job: it is refused with its place, or it goes where it belongs and no further.

Nothing of it is run by a shell that nobody asked for, and nothing of it ends a plan.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.api.builders import a_template, an_mpijob
from tests.unit.jobs.builders import ELASTIC
from tests.unit.jobs.simulated import Cluster

from springtide.api.defaults.mpijob import defaulted
from springtide.api.validation import mpijob
from springtide.jobs.kind import Hosts
from springtide.jobs.kinds.mpi.files import files
from springtide.jobs.observed import Settings

HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned;",
    "x\ntouch pwned\n",
    "x' && touch pwned #",
    'x" && touch pwned #',
    "$IFS",
    "${HOME}",
    "-n",
    "--all-namespaces",
    "../../etc/passwd",
    "\u202e\u2028ⅷ²",
    "a" * 70_000,
    "*",
    "\\",
    "\x00",
)
"""What people try."""
versions = st.sampled_from(["v1", "v2beta1"])
words = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))
names = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


def a_full_job(version: str) -> dict[str, Any]:
    """With something in every field that is read or added to."""
    container = {
        "env": [{"name": "A", "value": "b"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
        "securityContext": {"runAsUser": 1},
    }
    pod = {
        **a_template(*ELASTIC, **container)["spec"],
        "initContainers": [{"name": "i", "image": "i"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "serviceAccountName": "a",
        "dnsPolicy": "ClusterFirst",
        "dnsConfig": {"searches": ["x"]},
        "hostname": "h",
        "subdomain": "s",
        "hostNetwork": True,
        "priorityClassName": "p",
        "restartPolicy": "Never",
        "securityContext": {"fsGroup": 1},
        "nodeSelector": {"a": "b"},
    }
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}, "name": "n"}, "spec": pod}
    raw = an_mpijob(
        version,
        launcher={"template": template, "restartPolicy": "Never"},
        worker={"template": deepcopy(template), "restartPolicy": "Never"},
        slotsPerWorker=2,
        mainContainer="main",
        sshAuthMountPath="/home/x/.ssh",
        mpiImplementation="OpenMPI",
        launcherCreationPolicy="AtStartup",
        cleanPodPolicy="Running",
        launcherAttachMode="kubexec" if version == "v1" else "ssh",
        elasticPolicy={"minReplicas": 1, "maxReplicas": 3},
        runPolicy={
            "backoffLimit": 1,
            "activeDeadlineSeconds": 9999,
            "ttlSecondsAfterFinished": 9999,
            "suspend": False,
            "schedulingPolicy": {"queue": "q", "minAvailable": 1, "minResources": {"cpu": "1"}, "priorityClass": "p"},
        },
    )
    waits = dict.fromkeys(("drain-seconds", "settle-seconds", "start-seconds"), "1")
    raw["metadata"] |= {
        "annotations": {**{f"springtide.dev/{name}": each for name, each in waits.items()}, QUEUE: "q"},
        "labels": {"a": "b"},
    }
    return raw


QUEUE = "scheduling.volcano.sh/queue-name"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything in an object, itself excluded."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name)
        yield from places(each, (*path, name))


def put(raw: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = deepcopy(raw)
    at: Any = changed
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return changed


PLACES = {
    version: [
        path for path in places(a_full_job(version)) if path[0] == "spec" or path[:2] == ("metadata", "annotations")
    ]
    for version in ("v1", "v2beta1")
}
anything = st.one_of(
    words,
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.just([]),
    st.just({}),
    st.lists(words, max_size=2),
    st.dictionaries(words, words, max_size=2),
)


@pytest.mark.parametrize("version", PLACES)
def test_the_job_that_is_tampered_with_is_valid_before(version: str) -> None:
    assert mpijob.errors(a_full_job(version)) == []
    Cluster(a_full_job(version), Settings(gang_scheduler="volcano")).settle()


@settings(deadline=None, max_examples=300)
@given(st.data(), versions)
def test_a_plan_is_made_of_whatever_is_not_refused(data: st.DataObject, version: str) -> None:
    place = data.draw(st.sampled_from(PLACES[version]))
    raw = put(a_full_job(version), place, data.draw(anything))
    wrong = mpijob.errors(raw)
    for error in wrong:
        assert error.field, "the place of a mistake is named"
    if wrong:
        return
    cluster = Cluster(raw, Settings(gang_scheduler="volcano"))
    for _ in range(4):
        made = cluster.reconcile()
        msgspec.json.encode([getattr(action, "manifest", None) for action in made.actions])
        cluster.tick(10)


def ran(script: str, folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[bytes]:
    (folder / "script.sh").write_text(script)
    (folder / "work").mkdir(exist_ok=True)
    env = {"PATH": path or os.environ["PATH"], "HOME": "/nonexistent"}
    command = ["/bin/sh", str(folder / "script.sh"), *arguments]
    return subprocess.run(command, cwd=folder / "work", capture_output=True, check=False, env=env)


def untouched(folder: Path) -> bool:
    """Nothing has run that would have left a file."""
    return list((folder / "work").iterdir()) == []


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as found:
        kubectl = Path(found) / "kubectl"
        kubectl.write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n')
        kubectl.chmod(0o755)
        yield Path(found)


@settings(deadline=None, max_examples=60)
@given(versions, names, st.lists(st.integers(0, 10**6), unique=True, min_size=1, max_size=5), st.integers(1, 10**9))
def test_the_scripts_give_exactly_the_hosts_that_are_meant(
    folder: Path, version: str, name: str, indices: list[int], slots: int
) -> None:
    pods = tuple(f"{name}-worker-{index}" for index in sorted(indices))
    raw = an_mpijob(version, name=name, slotsPerWorker=slots)
    suffix = f".{name}.ns.svc" if version == "v2beta1" else ""
    made = files(defaulted(raw), Hosts(pods, pods, "uid-1"), Settings())
    assert ran(made["discover_hosts.sh"], folder).stdout.decode().splitlines() == [
        f"{pod}{suffix}:{slots}" for pod in pods
    ]
    assert made["hostfile"].splitlines() == [f"{pod}{suffix} slots={slots}" for pod in pods]


@settings(deadline=None, max_examples=60)
@given(words.filter(lambda word: "\x00" not in word and len(word) < 4096), st.lists(names, min_size=1, max_size=3))
def test_no_script_runs_what_it_is_given(folder: Path, word: str, hosts: list[str]) -> None:
    """Not even if it came past all that validates it: a uid, a domain, the name of a container."""
    plain = defaulted(an_mpijob("v1"))
    job = replace(plain, own=replace(plain.own, main_container=word))
    given_hosts = Hosts(tuple(hosts), tuple(hosts), word)
    made: Mapping[str, str] = files(job, given_hosts, Settings())
    uid = ran(made["hosts_given.sh"], folder, word or "nobody")
    assert uid.returncode == 0, uid.stderr
    assert ran(made["hosts_given.sh"], folder, f"{word}x").returncode != 0
    script = made["kubexec.sh"].replace("/opt/kube/kubectl", str(folder / "kubectl"))
    ended = ran(script, folder, word, "true", "a b")
    option = ["--container", word] if word else []
    assert ended.stdout.decode().split("\0")[:-1] == ["exec", word, *option, "--", "/bin/sh", "-c", "true a b"]
    domain = files(defaulted(an_mpijob("v2beta1")), Hosts(tuple(hosts), (), "u"), Settings(cluster_domain=word))
    said = ran(domain["discover_hosts.sh"], folder).stdout.decode()
    end = f".{word}" if word else ""
    assert said == "".join(f"{host}.pi.ns.svc{end}:1\n" for host in hosts)
    assert untouched(folder)
