# SPDX-License-Identifier: Apache-2.0
"""What a training program calls, inside its own process.

    running           `elastic.run`: the frame around a training function
    state             what training must not lose: commits, newcomers, recovery
    checkpoints       commits on disk
    pickles           what earlier versions wrote there
    samplers, orders  which samples this rank trains, in which order
    collectives       sums, means and copies among the ranks
    sums, memory      how collectives add up many arrays, and where
    context           where this process stands among the others
    session           the link to the launcher
    reporting         numbers for the launcher's progress line
    transports        how ranks exchange bytes

Nothing here is imported by launcher or agents.

The package is called by the plural because `elastic.rank` is a function: a module of that name would take its place as
soon as anything imported it.
"""
