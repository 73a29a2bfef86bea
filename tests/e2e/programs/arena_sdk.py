# SPDX-License-Identifier: Apache-2.0
"""A user of Arena's Python SDK: submits a job, looks at it, scales it, submits it again, deletes it.

    python arena_sdk.py NAMESPACE NAME IMAGE COMMAND

It runs an `arena` from the PATH through a shell, and prints what it was told, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from arenasdk.client.client import ArenaClient
from arenasdk.enums.types import TrainingJobType
from arenasdk.exceptions.arena_exception import ArenaException
from arenasdk.training.et_job_builder import ETJobBuilder
from arenasdk.training.scaleout_etjob_builder import ScaleOutETJobBuilder

namespace, name, image, command = sys.argv[1:]
client = ArenaClient(namespace=namespace)
training, kind = client.training(), TrainingJobType.ETTrainingJob
told: dict[str, Any] = {"before": training.get(name, kind)}
builder = ETJobBuilder().with_name(name).with_image(image).with_workers(1).with_min_workers("1").with_max_workers("3")
job = builder.with_envs({"GREETING": "hello"}).with_command(command).build()
told["submitted"] = training.submit(job)
while (found := training.get(name, kind)).get_status().value != "RUNNING":
    time.sleep(0.5)
told["got"] = {
    "name": found.get_name(),
    "type": found.get_type().value,
    "chief": found.get_chief_name(),
    "instances": sorted(each.get_name() for each in found.get_instances()),
}
try:
    training.submit(job)
except ArenaException as error:
    told["again"] = str(error)
told["scaled"] = training.scaleout(ScaleOutETJobBuilder().with_name(name).with_count(1).with_timeout("1m").build())
told["nodes"] = [node.get_name() for node in client.nodes().all().get_normal_nodes()]
told["deleted"] = training.delete(name, TrainingJobType.AllTrainingJob)
told["after"] = training.get(name, kind)
print(json.dumps(told))
