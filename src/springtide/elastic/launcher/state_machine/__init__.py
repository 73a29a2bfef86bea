# SPDX-License-Identifier: Apache-2.0
"""The launcher's decisions: events go in, actions come out. Pure; time is a parameter.

    machine             the way in: events to decisions, and the log of both
    events              what a run hears of hosts, agents, ranks and users
    run_state           a run from its first host to its exit code
    run_actions         what is to be done in a run
    policies            its rules: dead workers, back-off, quorum and more
    membership          which workers train together
    membership_actions  what is to be done about the members
    membership_changes  which ranks came and went, for progress reports
    workers             a worker's phases, and how many workers a run requires
    settings            what a run is asked to be
    event_log, replay   the events of a run, and the same decisions once more

Nothing here does what it decides.
"""
