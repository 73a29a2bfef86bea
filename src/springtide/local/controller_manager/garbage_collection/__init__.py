# SPDX-License-Identifier: Apache-2.0
"""Objects that go because others have gone or because they are old."""
