# SPDX-License-Identifier: Apache-2.0
"""The former name of `parent_death`, with which a supervisor started before the renaming restarts its children."""

from springtide.local.supervisor.parent_death import main

if __name__ == "__main__":
    main()
