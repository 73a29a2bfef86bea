# SPDX-License-Identifier: Apache-2.0
"""The processes of one embedded cluster: `tide up` becomes their supervisor.

    supervising, settings   starts, restarts and stops all other processes
    serving, server         the server: the supervisor's handle of it, and its own `main`
    machine                 what a cluster with nodes adds: the pod network and the agents
    agents, operator        one agent process per node; the operator process
    credentials             credentials of agents and operator
    seeding                 the objects that training jobs require: definitions, namespaces, the operator's rights
    nodes, node_plans       from Node objects to agents that are started, stopped and killed
    node_specs              nodes as written on a command line
    endings, signals        how the cluster is shut down, and how that is requested
    leftovers, readiness    pods found on disk; nodes that are ready
    processes               a child process that is kept running
    parent_death            a process that dies with its parent; `leash` is its former name
    failures, log_files     error messages of a server that does not start; logs of background processes

The supervisor uses only the Kubernetes API. Only `server` imports the API server, in a process of its own.
"""
