# SPDX-License-Identifier: Apache-2.0
"""The former name of `parent_death`, by which a supervisor started before the renaming starts its children again."""

from springtide.local.supervisor.parent_death import main

if __name__ == "__main__":
    main()
