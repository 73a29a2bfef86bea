# SPDX-License-Identifier: Apache-2.0
"""A TensorFlow program whose workers come and go: each knows itself and the parameter servers alone, from TF_CONFIG.

python dynamic_worker.py STEPS PAUSE

Workers train the same variables, which lie on the parameter server, without waiting for each other. The global step
counts the steps of all. PAUSE is a file with the seconds that a step rests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import tensorflow as tf

v1 = tf.compat.v1


def main(steps: int, pause: Path) -> None:
    v1.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    cluster = {role: _numbered(hosts) for role, hosts in config["cluster"].items() if hosts}
    role, index = config["task"]["type"], config["task"]["index"]
    print(f"{role} {index} knows {json.dumps(cluster)}", flush=True)
    if role == "ps":
        tf.distribute.Server(cluster, job_name=role, task_index=index).join()
    # Its session gives this process the name of its task; a server of that name would be another one to TensorFlow.
    server = tf.distribute.Server({"process": [cluster[role][index]]}, job_name="process", task_index=0)
    train(server.target, tf.train.ClusterSpec(cluster), index, steps, pause)


def _numbered(hosts: dict[str, str] | list[str]) -> dict[int, str] | list[str]:
    return {int(index): host for index, host in hosts.items()} if isinstance(hosts, dict) else hosts


def train(target: str, known: tf.train.ClusterSpec, index: int, steps: int, pause: Path) -> None:
    # The parameter server learns of this worker with its session; all sessions share variables.
    shared = v1.ConfigProto.Experimental(share_session_state_in_clusterspec_propagation=True)
    settings = v1.ConfigProto(cluster_def=known.as_cluster_def(), experimental=shared)
    with v1.device(v1.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")):
        step = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
        inputs = tf.random.normal([16, 4])
        loss = tf.reduce_mean((inputs @ weights - tf.reduce_sum(inputs, 1, keepdims=True)) ** 2)
        optimizer = v1.train.GradientDescentOptimizer(0.02).minimize(loss, global_step=step)
    done = 0
    with v1.train.MonitoredTrainingSession(master=target, is_chief=index == 0, config=settings) as session:
        while done < steps:
            _, now, at = session.run([optimizer, loss, step])
            done = int(at)
            print(f"worker {index}: global step {done}, loss {now:.6f}", flush=True)
            time.sleep(float(pause.read_text()))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
