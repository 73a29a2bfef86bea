# SPDX-License-Identifier: Apache-2.0
"""Horovod's API, for programs that were written for it: they change one line.

    import horovod.torch as hvd      →      import springtide.elastic.horovod.torch as hvd

The names have their meaning in Horovod 0.28; the implementation is Springtide's: new ranks join when they are ready,
ranks leave between two steps, and no rank is restarted.

    world         init, rank, size: this process's place, before and after it joins a generation
    reduction     Average, Sum; errors for the operations that are not offered
    objects       collectives of any Python value
    states        elastic states: commit, check_host_updates, reset callbacks
    running       elastic.run
    reducing      optimizers and gradient tapes that use the gradients of all ranks
    samplers      ElasticSampler
    compression   uncompressed gradients; the frameworks add half-precision floats
    torch, tensorflow, tensorflow.keras
"""
