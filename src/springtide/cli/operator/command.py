# SPDX-License-Identifier: Apache-2.0
"""`tide operator`: reconciles training jobs on the kubeconfig's cluster.

`tide up` runs it beside the embedded cluster. On a real cluster the same command runs in a Deployment, with one active
replica at a time. Flags that the Go mpi-operator also has are named alike.
"""

from __future__ import annotations

from typing import Any

import click

from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.cli.operator import logs

_PORT = click.IntRange(0, 65535)


@click.command()
@click.option("--kubeconfig", default="", metavar="FILE", help="Which cluster.  [default: as kubectl finds it]")
@click.option(
    "--context", default="", metavar="NAME", help="The context of the kubeconfig, instead of its current one."
)
@click.option(
    "--kinds",
    "--enable-scheme",
    multiple=True,
    metavar="KIND,...",
    help="Serve jobs of these kinds alone, such as TFJob,PyTorchJob.  [default: all that the cluster defines]",
)
@click.option(
    "--namespace",
    default="",
    envvar="KUBEFLOW_NAMESPACE",
    show_envvar=True,
    metavar="NAME",
    help="Reconcile jobs in this namespace only.  [default: all]",
)
@click.option(
    "--workers",
    "--threadiness",
    default=8,
    show_default=True,
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Concurrent reconciles.",
)
@click.option(
    "--max-workers-per-job",
    "max_workers",
    default=10_000,
    show_default=True,
    type=click.IntRange(1, MOST_WORKERS),
    metavar="N",
    help="Run no job with more workers than this.",
)
@click.option(
    "--kube-api-qps",
    "qps",
    default=0.0,
    type=click.FloatRange(0),
    metavar="N",
    help="Requests a second to the API server; 0 for no limit.  [default: 0]",
)
@click.option(
    "--kube-api-burst",
    "burst",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Requests at once within that limit.  [default: twice as many as a second]",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    help="Elect a leader among several operators; without, run only one.",
)
@click.option(
    "--lock-namespace",
    default="mpi-operator",
    show_default=True,
    metavar="NAME",
    help="Namespace of the lease by which a leader is elected.",
)
@click.option(
    "--gang-scheduling",
    "gang_scheduler",
    default="",
    metavar="NAME",
    help="Start all pods of a job or none: volcano, or the name of a scheduler that knows PodGroups.",
)
@click.option(
    "--cluster-domain",
    default="",
    envvar="CUSTOM_CLUSTER_DOMAIN",
    show_envvar=True,
    metavar="NAME",
    help="Such as cluster.local: makes host names complete.",
)
@click.option(
    "--kubectl-delivery-image",
    "kubectl_image",
    default="",
    metavar="IMAGE",
    help="Brings kubectl to launchers whose own image has none.",
)
@click.option("--health-port", type=_PORT, metavar="PORT", help="Serve /healthz and /readyz; 0 takes any free port.")
@click.option("--monitoring-port", "metrics_port", type=_PORT, metavar="PORT", help="Serve /metrics; 0 as above.")
@click.option(
    "--webhook-port", type=_PORT, metavar="PORT", help="Serve the webhook that rejects invalid jobs; 0 as above."
)
@click.option(
    "--webhook-service",
    default="",
    metavar="NAME",
    help="Service in the lock's namespace by which the API server finds the webhook.  [default: on this machine]",
)
@click.option(
    "--webhook-url",
    default="",
    metavar="URL",
    help="Where the API server finds the webhook, if not on this machine and not by a Service.",
)
@click.option("--webhook-must-answer", is_flag=True, help="Reject jobs while the webhook is unreachable.")
@click.option(
    "--log-format",
    type=click.Choice(logs.FORMATS),
    default="text",
    show_default=True,
    help="Format of log lines.",
)
@click.option("--verbose", is_flag=True, help="Log every step.")
def operator(log_format: str, verbose: bool, **flags: Any) -> None:
    """Run the operator, which reconciles training jobs.

    It runs until Ctrl-C or SIGTERM. It may be killed at any moment: its successor continues.
    """
    # Imported here because --help does not need it.
    from springtide.cli.operator import running  # noqa: PLC0415

    options = running.options(**flags)
    logs.begin(log_format, verbose=verbose)
    running.run(options)
