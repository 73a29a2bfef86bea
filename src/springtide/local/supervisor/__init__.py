# SPDX-License-Identifier: Apache-2.0
"""The processes of one embedded cluster: `tide up` becomes their supervisor.

    supervising, settings   starts, keeps and ends all the others
    serving, server         the server: the supervisor's view of it, and its own `main`
    machine                 what comes with nodes: the pods' network and the agents
    agents, operator        one agent process per node; the operator beside them
    credentials             what agents and operator prove themselves with
    seeding                 what is there for training jobs before anybody asks
    nodes, node_plans       which nodes there are to be: from Node objects to agents started, stopped and killed
    node_specs              nodes as people write them on a command line
    endings, signals        how the cluster ends, and who says so
    leftovers, readiness    pods found on disk; nodes that have come up
    processes, leash        a child that is kept running; one that dies with its parent
    failures, log_files     what a server that does not start says; logs of processes in the background

It knows the cluster through the Kubernetes API alone. Only `server` imports the API server, in a process of its own.
"""
