# SPDX-License-Identifier: Apache-2.0
"""Job kinds as their users write them: typed projections for reading, never written back.

What kinds share has modules of its own (`replicas`, `run_policy`, `elastic_policy`, `status`, `conditions`); a kind
adds its own fields and says how it is served. Types read leniently, so that an object from a cluster with another CRD
can be read at all. What a field may hold is said in `fields.doc`, for the CRD alone; `api.validation` checks.
"""
