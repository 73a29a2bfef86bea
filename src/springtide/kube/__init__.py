# SPDX-License-Identifier: Apache-2.0
"""A client for any Kubernetes API, real or embedded, and the framework for controllers.

    resources, errors    what requests address, what responses may be (pure)
    request              requests as plain data (pure)
    config, transport    the API server's address and our credentials; requests over HTTP
    client, watch        the verbs; one watch connection
    cache, informer      cached objects, kept up to date
    workqueue            keys waiting for a worker: de-duplicated, delayed, with back-off
    controller           the loop around a reconcile function
    leader, events       leader election; the events that users see in `kubectl describe`
    exec                 runs a command in a container
    certificates         the hosts that a certificate is for

Import from the modules themselves: most users need two of them, and some are slow to import. This package knows no job
kind, and uses no other package but `event_loop`.
"""
