# SPDX-License-Identifier: Apache-2.0
"""The processes of one embedded cluster: started, watched, restarted and ended in order."""
