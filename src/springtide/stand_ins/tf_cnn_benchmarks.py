# SPDX-License-Identifier: Apache-2.0
"""Stands in for TensorFlow's tf_cnn_benchmarks.py: its flags, its header, its last line.

It measures the training of a small network on handwritten digits. Flags that choose what TensorFlow computes, and how,
are accepted and shown, and have no effect.
"""

from __future__ import annotations

import argparse
import socket
import time
from typing import Any

import numpy as np

from springtide import elastic
from springtide.stand_ins import digits, network, training

STANDS_FOR = "TensorFlow's benchmark of this name"
INSTEAD = (
    "It trains a network of 64 hidden units with NumPy on 1,797 handwritten digits, and its images/sec are of that; "
    "TensorFlow is not used, and the model is only named."
)
WITHOUT_EFFECT = (
    "all_reduce_spec", "allow_growth", "controller_host", "data_dir", "device", "distortions", "eval", "eval_dir",
    "fp16_loss_scale", "forward_only", "gpu_memory_frac_for_testing", "gradient_repacking", "hierarchical_copy",
    "horovod_device", "init_learning_rate", "job_name", "learning_rate", "local_parameter_device", "momentum",
    "network_topology", "nodistortions", "num_epochs", "num_gpus", "num_inter_threads", "num_intra_threads",
    "print_training_accuracy", "ps_hosts", "save_model_secs", "server_protocol", "staged_vars", "summary_verbosity",
    "sync_on_finish", "task_index", "tf_random_seed", "trace_file", "train_dir", "use_datasets", "use_fp16",
    "use_tf_layers", "variable_consistency", "weight_decay", "winograd_nonfused", "worker_hosts", "xla", "xla_compile",
)  # fmt: skip
"""Common flags of the benchmark that have no effect here."""


def asked(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"A stand-in for {STANDS_FOR}. {INSTEAD}", allow_abbrev=False)
    parser.add_argument("--model", default="trivial")
    parser.add_argument("--batch_size", type=_count, default=32, help="images of one rank in one step")
    parser.add_argument("--num_batches", type=_count, default=100)
    parser.add_argument("--num_warmup_batches", type=int, default=10)
    parser.add_argument("--display_every", type=_count, default=10)
    parser.add_argument("--variable_update", default="parameter_server")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--data_format", default="NCHW")
    parser.add_argument("--data_name", default="imagenet")
    for name in WITHOUT_EFFECT:
        parser.add_argument(f"--{name}", nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def header(options: argparse.Namespace, size: int) -> str:
    return "\n".join(
        (
            "TensorFlow:  not used (a stand-in of Springtide)",
            f"Model:       {options.model} (named only)",
            f"Dataset:     {options.data_name} (named only; 1,797 handwritten digits)",
            "Mode:        training",
            f"Batch size:  {options.batch_size * size} global",
            f"             {options.batch_size} per device",
            f"Num batches: {options.num_batches}",
            f"Devices:     {[f'{options.variable_update}/cpu:{rank}' for rank in range(size)]}",
            f"Data format: {options.data_format} (no effect)",
            f"Optimizer:   {options.optimizer} (always sgd)",
            f"Variables:   {options.variable_update}",
            "==========",
        )
    )


def main() -> None:
    options = asked()
    training.introduce(STANDS_FOR, INSTEAD)
    data = digits.load()
    state = elastic.State(weights=network.fresh())

    @elastic.run
    def run(state: elastic.State) -> None:
        training.say(f"rank {elastic.rank()} of {elastic.size()} on {socket.gethostname()}")
        elastic.barrier()
        tell = training.say if elastic.rank() == 0 else _silent
        tell(header(options, elastic.size()))
        tell("Running warm up")
        chance = np.random.default_rng(elastic.rank())
        for _ in range(options.num_warmup_batches):
            step(state, data, chance, options.batch_size)
        tell("Done warm up\nStep\tImg/sec\ttotal_loss")
        began, rate = time.perf_counter(), 0.0
        for number in range(1, options.num_batches + 1):
            loss = step(state, data, chance, options.batch_size)
            rate = number * options.batch_size * elastic.size() / (time.perf_counter() - began)
            if number == 1 or number % options.display_every == 0:
                tell(f"{number}\timages/sec: {rate:.1f}\t{loss:.3f}")
        tell(f"{'-' * 64}\nTotal images/sec: {rate:.2f}")

    run(state)


def step(state: Any, data: digits.Digits, chance: np.random.Generator, batch: int) -> float:
    """Trains one batch of this rank with the gradients of all ranks; returns the mean loss."""
    share = chance.integers(len(data.labels), size=batch)
    gradient, loss = elastic.allreduce(network.learned(state.weights, data.pixels[share], data.labels[share]))
    for name, weight in state.weights.items():
        weight -= training.RATE * gradient[name]
    return float(loss)


def _silent(text: str) -> None:
    """For ranks other than the first."""


if __name__ == "__main__":
    main()
