# SPDX-License-Identifier: Apache-2.0
"""The launcher, `tiderun`: starts agents, serves connections of agents and ranks, decides which ranks train together.

    command           the program: options in, exit code out
    options           the command line
    coordinator       the connections of all agents and ranks: events in, actions carried out
    worker_links      the connections of one worker
    state_machine     the decisions; pure
    discovery         hosts from a script, run repeatedly
    hosts             hosts and slots as users write them
    host_starter      starts the agents of a host, with retries
    agent_starter     the process that starts agents: the agent itself, kubectl exec or ssh
    agent_commands    its command line: local, kubexec.sh or ssh
    environment       the variables that ranks get
    descriptors       the launcher's limit of file descriptors
    output            the ranks' output, with prefixes
    event_file        the events of a run that failed
    progress          the progress line and the annotation of the launcher's pod

Ranks and agents import nothing from here.
"""
