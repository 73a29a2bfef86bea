# SPDX-License-Identifier: Apache-2.0
"""Durable revisioned storage of the API server's objects.

`backend` defines the interface; `open_store` opens a store.
"""

from springtide.local.store.opening import open_store

__all__ = ["open_store"]
