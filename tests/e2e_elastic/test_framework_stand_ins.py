# SPDX-License-Identifier: Apache-2.0
"""Stand-ins that train with TensorFlow and PyTorch, in processes of this machine in place of the replicas of a job."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e_elastic.environments import ROOT
from tests.e2e_elastic.training import PATIENCE, quiet

pytestmark = pytest.mark.timeout(400)
PROGRAMS = ROOT / "src" / "springtide" / "stand_ins"
SCALARS = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray
events = EventAccumulator(sys.argv[1])
events.Reload()
for event in events.Tensors(sys.argv[2]):
    print(event.step, make_ndarray(event.tensor_proto))
"""


class Processes:
    """Those of one test; none is left behind."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack

    def start(self, name: str, *command: str | Path, **variables: str) -> Started:
        environment = {"PATH": os.environ["PATH"], **quiet(), **variables}
        log = self._folder / f"{name}.log"
        with log.open("w") as file:
            process = subprocess.Popen([*map(str, command)], env=environment, stdout=file, stderr=subprocess.STDOUT)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return Started(process, log)

    def run(self, *command: str | Path, **variables: str) -> str:
        return self.start("alone", *command, **variables).end()


class Started:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self._log = process, log

    @property
    def text(self) -> str:
        return self._log.read_text()

    def end(self, status: int = 0) -> str:
        """All output of the process, once it has ended with this status."""
        assert self.process.wait(PATIENCE) == status, self.text
        return self.text


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with ExitStack() as stack:
        yield Processes(tmp_path, stack)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def check_learning(text: str) -> list[float]:
    """It says what it is, its loss falls and its accuracy is good; returns its losses."""
    assert re.search(r"^\w+\.py: a stand-in that comes with Springtide, for ", text, re.MULTILINE), text
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", text)]
    assert losses[0] > 2, text
    assert sum(losses[-3:]) / 3 < 0.6, text
    (accuracy,) = re.findall(r"^Trained \d+ steps.* accuracy (\d\.\d+) on digits kept back$", text, re.MULTILINE)
    assert float(accuracy) > 0.9, text
    return losses


def test_one_tensorflow_process_learns_and_tensorboard_reads_its_event_files(
    processes: Processes, tensorflow_python: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "train" / "logs"
    options = (f"--log_dir={logs}", "--learning_rate=0.01", "--batch_size=150", "--max_steps=200")
    said = processes.run(tensorflow_python, PROGRAMS / "mnist_with_summaries.py", *options)
    check_learning(said)
    last = re.findall(r"^Step (\d+): loss (\S+), accuracy (\S+)$", said, re.MULTILINE)[-1]
    for part, name, printed in (("train", "loss", last[1]), ("test", "accuracy", last[2])):
        read = processes.run(tensorflow_python, "-c", SCALARS, logs / part, name)
        step, value = read.splitlines()[-1].split()
        assert step == last[0] == "200"
        assert float(value) == pytest.approx(float(printed), abs=1e-3)


def test_tensorflow_workers_train_together_beside_a_parameter_server(
    processes: Processes, tensorflow_python: Path
) -> None:
    """TF_CONFIG is that of the document. The workers end, the parameter server does not."""
    ps, *workers = [f"localhost:{port}" for port in free_ports(3)]
    cluster = {"ps": [ps], "worker": workers}
    started = {
        (role, index): processes.start(
            f"{role}-{index}", tensorflow_python, PROGRAMS / "distributed_worker.py", TF_CONFIG=config
        )
        for role, index in (("ps", 0), ("worker", 0), ("worker", 1))
        for config in [tf_config(cluster, role, index)]
    }
    losses = []
    for index in range(2):
        said = started["worker", index].end()
        assert f"\nworker {index} on " in said
        assert "\n2 replicas in sync; the sum of a one from each is 2\n" in said
        losses.append(check_learning(said))
    assert losses[0] == losses[1], "they train one model"
    server = started["ps", 0]
    assert server.process.poll() is None
    assert f"serves at {ps}, and does not end by itself" in server.text


def tf_config(cluster: Mapping[str, list[str]], role: str, index: int) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": index}, "environment": "cloud"})


def test_a_lone_tensorflow_worker_trains(processes: Processes, tensorflow_python: Path) -> None:
    said = processes.run(tensorflow_python, PROGRAMS / "distributed_worker.py")
    assert "\n1 replicas in sync; the sum of a one from each is 1\n" in said
    check_learning(said)


def test_three_pytorch_ranks_train_together_over_gloo(processes: Processes, torch_python: Path) -> None:
    (port,) = free_ports(1)
    group = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "WORLD_SIZE": "3"}
    command = (torch_python, PROGRAMS / "pytorch_dist_mnist.py", "--backend", "gloo")
    ranks = [processes.start(f"rank-{rank}", *command, **group, RANK=str(rank)) for rank in range(3)]
    accuracies = set()
    for rank, started in enumerate(ranks):
        said = started.end()
        assert re.search(rf"^rank {rank} of 3 on .*, backend gloo; the sum of a one from each is 3$", said, re.M), said
        check_learning(said)
        accuracies |= set(re.findall(r"accuracy (\S+)", said))
    assert len(accuracies) == 1, "they train one model"


def test_pytorch_trains_alone_without_variables(processes: Processes, torch_python: Path) -> None:
    said = processes.run(torch_python, PROGRAMS / "pytorch_dist_mnist.py", "--epochs=6")
    assert "rank 0 of 1 on " in said
    check_learning(said)


@pytest.mark.parametrize(
    ("backend", "message", "way_out"),
    [
        (
            "mpi",
            "RuntimeError: Distributed package doesn't have MPI built in.",
            "Springtide's examples/mpirun/pi.yaml.",
        ),
        ("nccl", "RuntimeError: ", "Use --backend gloo without."),
    ],
)
def test_a_backend_that_is_not_there_fails_with_pytorchs_message_and_a_way_out(
    backend: str, message: str, way_out: str, processes: Processes, torch_python: Path
) -> None:
    program = PROGRAMS / "pytorch_dist_mnist.py"
    said = processes.start("failing", torch_python, program, "--backend", backend).end(status=1)
    *_, error, last = said.splitlines()
    assert error.startswith(message)
    assert last.endswith(way_out)
