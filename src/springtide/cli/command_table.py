# SPDX-License-Identifier: Apache-2.0
"""The commands of `tide`: under which heading each stands, the module that has it, and its line of help.

A module is imported when its command runs, so that `tide --help` is quick.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from springtide.messages import Text, text


class Entry(NamedTuple):
    place: str
    """`module:name`, the module below `springtide.cli`."""
    help: Text


HEADINGS: Final[tuple[tuple[Text, dict[str, Entry]], ...]] = (
    (
        text("Jobs"),
        {
            "run": Entry("tide_jobs.submitting.run:run", text("Run a program of this directory as an elastic job.")),
            "submit": Entry(
                "tide_jobs.submitting.submit:submit", text("Create jobs: of a manifest, or described by flags.")
            ),
            "list": Entry("tide_jobs.list:list_", text("Show the jobs of a namespace.")),
            "get": Entry("tide_jobs.get:get", text("Show a job and its instances.")),
            "logs": Entry("tide_jobs.logs:logs", text("Show what the pods of a job print, merged by time.")),
            "explain": Entry("tide_jobs.explain:explain", text("Explain why a job is in its state.")),
            "top": Entry("tide_jobs.top:top", text("Show what jobs take up, and what nodes have.")),
            "attach": Entry("tide_jobs.attach:attach", text("Run a command in a job's pod, with a terminal.")),
            "tensorboard": Entry(
                "tide_jobs.tensorboard:tensorboard", text("Show a job's TensorBoard on this machine.")
            ),
            "wait": Entry("tide_jobs.wait:wait", text("Wait until a job has finished.")),
        },
    ),
    (
        text("Changing jobs"),
        {
            "scale": Entry("tide_jobs.resizing.scale:scale", text("Give a job another number of workers.")),
            "scaleout": Entry("tide_jobs.resizing.scaling_out:scaleout", text("Add workers to a job.")),
            "scalein": Entry("tide_jobs.resizing.scaling_out:scalein", text("Remove workers from a job.")),
            "suspend": Entry("tide_jobs.suspend:suspend", text("Stop a job's pods, and keep the job.")),
            "resume": Entry("tide_jobs.suspend:resume", text("Start a suspended job again.")),
            "restart": Entry("tide_jobs.restart:restart", text("Start a job again, finished or not.")),
            "clone": Entry("tide_jobs.clone:clone", text("Create a copy of a job under another name.")),
            "diff": Entry("tide_jobs.diff:diff", text("Show what a manifest would change.")),
            "delete": Entry("tide_jobs.delete:delete", text("Delete jobs; with --cluster, an embedded cluster.")),
            "prune": Entry("tide_jobs.prune:prune", text("Delete old jobs that have finished.")),
        },
    ),
    (
        text("Cluster"),
        {
            "up": Entry("cluster.up:up", text("Start the embedded cluster.")),
            "down": Entry("cluster.down:down", text("Stop the embedded cluster; its objects are kept.")),
            "status": Entry("cluster.status:status", text("Show whether the embedded cluster runs.")),
            "kubeconfig": Entry("cluster.kubeconfig:kubeconfig", text("Print or merge the cluster's kubeconfig.")),
            "node": Entry("nodes.node:node", text("Show, add, drain, remove and reclaim nodes.")),
            "operator": Entry("operator.command:operator", text("Run the operator, which reconciles training jobs.")),
            "doctor": Entry(
                "doctor.command:doctor", text("Check this machine or a cluster; every fault comes with a fix.")
            ),
        },
    ),
    (
        text("Environments and data"),
        {
            "env": Entry("environments.env:env", text("Make, list and delete environments: what images stand for.")),
            "data": Entry("tide_jobs.data:data", text("Show the data volumes that jobs can mount.")),
        },
    ),
    (
        text("Other commands"),
        {
            "example": Entry("example:example", text("Print the manifest of a job to try out.")),
            "whoami": Entry("tide_jobs.whoami:whoami", text("Show who you are to the cluster.")),
            "completion": Entry("completion.command:completion", text("Print the script that completes tide by TAB.")),
            "version": Entry("app:version", text("Print the version, and the Kubernetes version it follows.")),
        },
    ),
)  # fmt: skip
COMMANDS: Final = {name: entry for _, entries in HEADINGS for name, entry in entries.items()}
ALIASES: Final = {"ls": "list", "log": "logs", "del": "delete"}
"""Arena's short names."""
FIRST_STEPS: Final = (
    ("tide up -d", text("a cluster on this machine")),
    ("tide run -- python train.py", text("a program of this directory as an elastic job")),
    ("tide list", text("the jobs")),
)
OTHER_WORDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("ps", "jobs"), ("list",)),
    **dict.fromkeys(("rm", "remove", "destroy", "kill", "cancel"), ("delete",)),
    **dict.fromkeys(("describe", "show", "info"), ("get",)),
    "apply": ("submit",),
    "train": ("run",),
    "create": ("submit", "up"),
    "start": ("up", "resume"),
    "stop": ("down", "suspend"),
    "pause": ("suspend",),
    "exec": ("attach",),
    "resize": ("scale",),
    "continue": ("resume",),
    "copy": ("clone",),
    "nodes": ("node",),
}
"""Names that other programs use for our commands."""
