# SPDX-License-Identifier: Apache-2.0
"""What every test relies on."""

from __future__ import annotations

import asyncio

# The looptime plugin asks for the current event loop even around synchronous tests. If none was ever set, Python 3.11
# makes one that nobody closes, and the warning about it hits whichever test runs when it is collected.
asyncio.set_event_loop(None)
