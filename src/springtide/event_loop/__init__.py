# SPDX-License-Identifier: Apache-2.0
"""Long work without a standstill: on the event loop in slices (`turns`), or in threads beside it (`long_work`)."""
