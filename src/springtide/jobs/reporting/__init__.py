# SPDX-License-Identifier: Apache-2.0
"""What users read about a job: status, state, explanation, events, progress, causes of waiting."""
