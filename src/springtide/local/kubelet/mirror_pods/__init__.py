# SPDX-License-Identifier: Apache-2.0
"""Mirror pods of the operator, by which `kubectl logs` and `kubectl top pod` reach its process.

The operator is a child of the supervisor and runs in no pod. The supervisor writes two files into the cluster's
directory: which node has the mirror pods, and which operator process runs, with the places of its log. The agent of
that node creates the mirror pods, reports their status, and serves logs and resource usage from these files. Nothing
else is kept, so supervisor, agent and operator may die at any moment.

    records      the two files: written by the supervisor, read by agents
    manifests    which mirror pods there are, and their objects
    plain_logs   the log of a process as `kubectl logs` shows it
    hosting      mirror pods as the agent's HTTPS paths see them
    keeping      creates, recreates and deletes the mirror pods of a node, and reports their status
"""
