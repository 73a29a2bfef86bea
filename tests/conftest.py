# SPDX-License-Identifier: Apache-2.0
"""What every test relies on."""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, settings

# The looptime plugin asks for the current event loop even around synchronous tests. If none was ever set, Python 3.11
# makes one that nobody closes, and the warning about it hits whichever test runs when it is collected.
asyncio.set_event_loop(None)

# The same examples on every run, and no complaint about a machine that is busy with something else.
settings.register_profile("springtide", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("springtide")
