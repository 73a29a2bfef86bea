# SPDX-License-Identifier: Apache-2.0
"""Jobs and deployments whose pods really run."""

from __future__ import annotations

import pytest
from tests.pods.manifests import WAIT, sh
from tests.pods.spaces import Space

from springtide.kube.request import Scope
from springtide.kube.resources import DEPLOYMENTS, JOBS, PODS, Obj

pytestmark = pytest.mark.any_user


def template(container: Obj, **spec: object) -> Obj:
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 2, **spec},
    }


async def test_a_job_runs_its_indexes_to_completion(space: Space) -> None:
    script = "echo $JOB_COMPLETION_INDEX of $HOSTNAME"
    job = JOBS.describe(space.key("j"))
    spec = {"completions": 3, "parallelism": 2, "completionMode": "Indexed"}
    job["spec"] = spec | {"template": template(sh(script), restartPolicy="Never")}
    await space.client.create(JOBS, job)
    space.kubectl("wait", "job/j", "--for=condition=Complete", "--timeout=25s")
    log = space.kubectl("logs", "-l", "batch.kubernetes.io/job-name=j", "--tail=-1")
    assert sorted(log.splitlines()) == ["0 of j-0", "1 of j-1", "2 of j-2"]


async def test_a_job_gives_up_after_its_back_off_limit(space: Space) -> None:
    job = JOBS.describe(space.key("j"))
    job["spec"] = {"backoffLimit": 0, "template": template(sh("exit 1"), restartPolicy="Never")}
    await space.client.create(JOBS, job)
    space.kubectl("wait", "job/j", "--for=condition=Failed", "--timeout=25s")
    assert "BackoffLimitExceeded" in space.kubectl("get", "job", "j", "-o", "jsonpath={.status.conditions[*].reason}")


async def test_a_deployment_rolls_over_to_a_new_version(space: Space) -> None:
    deployment = DEPLOYMENTS.describe(space.key("d"))
    selector = {"matchLabels": {"app": "x"}}
    main = sh(WAIT, env=[{"name": "V", "value": "1"}])
    deployment["spec"] = {"replicas": 2, "selector": selector, "template": template(main)}
    await space.client.create(DEPLOYMENTS, deployment)
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    space.kubectl("set", "env", "deployment/d", "V=2")
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    pods = (await space.client.list(PODS, Scope(space.name, labels="app=x"))).items
    names = [one["metadata"]["name"] for one in pods if not one["metadata"].get("deletionTimestamp")]
    assert len(names) == 2
    assert {space.kubectl("exec", name, "--", "printenv", "V") for name in names} == {"2\n"}


async def test_a_pod_that_dies_is_replaced(space: Space) -> None:
    deployment = DEPLOYMENTS.describe(space.key("d"))
    selector = {"matchLabels": {"app": "x"}}
    deployment["spec"] = {"replicas": 1, "selector": selector, "template": template(sh(WAIT))}
    await space.client.create(DEPLOYMENTS, deployment)
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    (first,) = (await space.client.list(PODS, Scope(space.name, labels="app=x"))).items
    await space.delete(first["metadata"]["name"])
    await space.gone(first["metadata"]["name"])
    space.kubectl("rollout", "status", "deployment/d", "--timeout=25s")
    (second,) = (await space.client.list(PODS, Scope(space.name, labels="app=x"))).items
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
