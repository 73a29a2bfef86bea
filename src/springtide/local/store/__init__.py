# SPDX-License-Identifier: Apache-2.0
"""The durable revisions behind the API server. `backend` is the contract; `open_store` is the way in."""

from springtide.local.store.opening import open_store

__all__ = ["open_store"]
