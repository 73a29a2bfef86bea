# SPDX-License-Identifier: Apache-2.0
"""Rules of a run, one per module, each with the little state that it needs. Pure; time is a parameter.

    liveness            whether a worker's process counts as dead
    failures            how workers end, and which ends are failures
    host_backoff        hosts in back-off after a failure
    program_failures    whether the program fails on every host
    quorum              whether a run has the ranks it requires, and for how long it has not
    idle_hosts          why no rank trains on a listed host
    final_checkpoint    a checkpoint before a run that got SIGTERM ends

`run_state` calls these; none of them imports it.
"""
