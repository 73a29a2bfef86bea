# SPDX-License-Identifier: Apache-2.0
"""The policies of a job: one module per API field, with the field's name.

`success_policy`, `backoff_limit`, `active_deadline`, `ttl_after_finished`, `clean_pod_policy`, `suspend`, `managed_by`;
`worker_restart_policy`, `launcher_restart_policy`, `job_restart_policy` are the three fields `restartPolicy` of a kind
that has one for each; and by annotation: `whole_job_restart`, `force_delete`.

`springtide.jobs.endings.finishing` has the order of those that end a job.
"""
