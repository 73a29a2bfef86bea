# SPDX-License-Identifier: Apache-2.0
from springtide.cli.arena.app import main

main()
