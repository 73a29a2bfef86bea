# SPDX-License-Identifier: Apache-2.0
"""The shim: one small process per pod that holds its namespaces, runs its containers and outlives everybody else.

    node agent ──shim.sock──► shim ─┬─ init (PID 1 of the container) ─► program ─► ...
                                    ├─ init ─► program
                                    └─ commands run by exec

The agent writes bodies into the pod's directory and asks over the socket; the shim writes states, logs and exit codes
beside them. So the agent may die at any moment and its successor still knows. When the shim dies, its inits die by
PR_SET_PDEATHSIG, and with an init everything in its PID namespace: nothing is ever left behind.

Standard library only, run by `python -I -S` or forked off `nursery`; there is one shim per pod, so each import is paid
hundreds of times. Hence the C halves of `signal`, `socket` and `json` (their Python halves cost 10 ms and 2 MB), no
asyncio and no threads: namespaces can only be changed by a process with a single one.

    notation, kernel, messages, loop     JSON, system calls, lines over sockets, the one loop
    root, program, init                  from a fork to a program in a root of its own
    logs, memory                         what it says and what it uses
    container, execution, sandbox        one container, commands beside it, what containers share
    process                              the shim itself
"""
