# SPDX-License-Identifier: Apache-2.0
"""The launcher's decisions: events go in, actions come out. Pure; time is a parameter.

    machine             the entry point: events to decisions, and the log of both
    events              events of hosts, agents, ranks and users
    run_state           a run from its first host to its exit code
    run_actions         the actions of a run
    policies            its rules: dead workers, back-off, quorum and more
    membership          which workers train together
    membership_actions  the actions that change the membership
    membership_changes  which ranks joined, left or were lost, for progress reports
    workers             a worker's phases, and how many workers a run requires
    settings            a run's settings
    event_log, replay   the events of a run, and the replay of its decisions

The actions are carried out by `coordinator`.
"""
