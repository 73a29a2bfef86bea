# SPDX-License-Identifier: Apache-2.0
"""The program `arena`: the commands of Arena v0.15.5, in its words, on any cluster.

    app                              finds the command of a line, runs it, and reports how it failed
    pflag, durations                 the syntax of flags and of their values
    command_tree, usage, suggesting  commands and their flags as data, their help, names that were meant
    log_lines                        Arena's lines on stderr
    session                          global flags, Arena's config file, namespace, connection
    flags, submissions               the flags of `submit`; what a user asks for with them
    submit, scale, list_jobs, …      one module per command

What `tide` does with jobs, too, is in `springtide.cli.jobs`. Commands are imported when they run.
"""
