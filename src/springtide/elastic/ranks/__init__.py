# SPDX-License-Identifier: Apache-2.0
"""The library that a training program calls, inside its own process.

    running           `elastic.run`: the wrapper of a training function
    state             the training state: commits, transfer to new ranks, recovery
    checkpoints       commits on disk
    pickles           reads pickles of earlier versions
    samplers, orders  which samples this rank trains, in which order
    collectives       sums, means and copies among the ranks
    sums, memory      how collectives sum many arrays, and the memory for it
    context           this process's place among the ranks
    session           the connection to the launcher
    reporting         numbers for the launcher's progress line
    transports        how ranks exchange bytes

Launcher and agents import nothing from here.

The name is plural because `elastic.rank` is a function: importing a module of that name would replace it.
"""
