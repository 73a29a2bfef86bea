# SPDX-License-Identifier: Apache-2.0
"""Metrics of the API server in the Prometheus text format."""

from __future__ import annotations

from collections import Counter

from springtide.local.store.backend import Store


class Measures:
    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()  # verb, resource, code
        self.watches = 0

    def text(self, store: Store) -> bytes:
        lines = ["# HELP apiserver_request_total Requests by verb, resource and HTTP code.",
                 "# TYPE apiserver_request_total counter"]  # fmt: skip
        lines += [
            f'apiserver_request_total{{verb="{verb}",resource="{resource}",code="{code}"}} {count}'
            for (verb, resource, code), count in sorted(self.requests.items())
        ]
        lines += ["# HELP apiserver_longrunning_requests Watches and streams now open.",
                  "# TYPE apiserver_longrunning_requests gauge",
                  f"apiserver_longrunning_requests {self.watches}",
                  "# HELP springtide_store_revision Newest durable revision.",
                  "# TYPE springtide_store_revision counter",
                  f"springtide_store_revision {store.revision}"]  # fmt: skip
        return ("\n".join(lines) + "\n").encode()
