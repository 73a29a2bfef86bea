# SPDX-License-Identifier: Apache-2.0
"""What a job's policies say, a module for each field of the API, named for it.

`success_policy`, `backoff_limit`, `active_deadline`, `ttl_after_finished`, `clean_pod_policy`, `suspend`, `managed_by`.
`springtide.jobs.endings.finishing` says in which order those apply that end a job.
"""
