# SPDX-License-Identifier: Apache-2.0
"""The shim: one small process per pod that holds its namespaces, runs its containers and outlives the agent.

    node agent ──shim.sock──► shim ─┬─ init (PID 1 of the container) ─► program ─► ...
                                    ├─ init ─► program
                                    └─ commands run by exec

The agent writes bodies into the pod's directory and sends requests over the socket; the shim writes states, logs and
exit codes into the same directory. So the agent may die at any moment and its successor can continue. When the shim
dies, its inits die by PR_SET_PDEATHSIG, and with an init everything in its PID namespace: no process is left behind.

Standard library only, run by `python -I -S` or forked off the fork server; there is one shim per pod, so each import is
paid hundreds of times. Hence the C halves of `signal`, `socket` and `json` (their Python halves cost 10 ms and 2 MB),
no asyncio and no threads: only a single-threaded process can change its namespaces.

    json_lines, kernel, messages, loop   JSON, system calls, lines over sockets, the event loop
    root, program, init                  from a fork to a program in a root of its own
    logs, memory, terminals              a container's output, resource usage and terminals
    container, execution, sandbox        one container, commands in it, what containers share
    tickets, process                     one-time permissions for exec, the shim itself
"""
