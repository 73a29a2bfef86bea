# SPDX-License-Identifier: Apache-2.0
"""Plumbing between our controllers and any Kubernetes API, real or embedded.

    resources, errors    what is addressed, what may come back (pure)
    request              requests as plain data (pure)
    config, transport    where the server is and who we are; bytes there and back
    client, watch        the verbs; one watch connection
    cache, informer      what there is, kept up to date
    workqueue            keys waiting for a worker: de-duplicated, delayed, backed off
    controller           the loop around a reconcile function
    leader, events       one active process among several; what users read under `kubectl describe`
    certificate_names    the hosts that a certificate is for

Import from the modules themselves: most users need two of them, and some cost more to import than others. Nothing
here knows a job kind or any other room than `api`.
"""
