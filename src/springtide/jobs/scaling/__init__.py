# SPDX-License-Identifier: Apache-2.0
"""ScaleOut and ScaleIn: changes of a job's size that wait for their turn and end in exactly one way."""
