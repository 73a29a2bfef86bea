# SPDX-License-Identifier: Apache-2.0
"""From a raw object to what is wrong with it. A module per kind, and `shared` for what they share.

Asked at admission where a webhook runs, and at every reconcile: CRDs of other origin let more pass than ours do.
Defaults are taken into account, so a field that is missing is only wrong where nothing can stand in for it.
"""
