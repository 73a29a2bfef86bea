# SPDX-License-Identifier: Apache-2.0
"""The launcher's decisions: events go in, actions come out. Pure; time is a parameter.

    machine             the way in: events to decisions, and the log of both
    run_state           a run from its first host to its exit code
    events              what a run hears of hosts, agents, ranks and users
    run_actions         what is to be done in a run
    settings            what a run is asked to be
    event_log, replay   the events of a run, and the same decisions once more
    membership          who trains together
    membership_actions  what is to be done about the members
    membership_changes  which ranks came and went, for progress reports
    workers             a worker's phases, and how many workers a run takes
    liveness            whether a worker's process counts as dead
    failures            how workers end, and which ends are failures
    host_backoff        hosts that rest after a failure
    program_failures    whether a program can work at all
    idle_hosts          why no rank trains on a listed host
    quorum              how long a run has had too few ranks
    final_checkpoint    a checkpoint before a run that was told to end

Nothing here does what it decides.
"""
