# SPDX-License-Identifier: Apache-2.0
from springtide.cli.entry import arena

arena()
