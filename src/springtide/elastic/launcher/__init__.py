# SPDX-License-Identifier: Apache-2.0
"""The process that `tiderun` is: starts agents, listens to them and to ranks, and decides who trains together.

    command           the program: options in, exit code out
    options           the command line
    coordinator       the connections of all agents and ranks: events in, actions carried out
    worker_links      the connections of one worker
    state_machine     what is decided; pure
    discovery         hosts from a script, asked again and again
    hosts             hosts and slots as people write them
    host_starter      starts the agents of a host, and tries again
    agent_starter     the process that does
    agent_commands    its command line: here, kubexec.sh or ssh
    environment       the variables that ranks get
    descriptors       how many descriptors the launcher may have
    output            what ranks print, with their names before it
    event_file        the events of a run that failed
    progress          the progress line and the annotation of the launcher's pod

Nothing here is imported by ranks or agents.
"""
