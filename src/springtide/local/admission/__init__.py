# SPDX-License-Identifier: Apache-2.0
"""What may enter: small plugins that complete an object about to be written, or refuse it.

The API server runs a `Chain` before validation (`mutate`) and after it (`validate`). Plugins read other objects through
a `Reader` and never write any.
"""
