# SPDX-License-Identifier: Apache-2.0
"""Horovod's names, for programs that were written for it: they change one line.

    import horovod.torch as hvd      →      import springtide.elastic.horovod.torch as hvd

What they mean is what they meant in Horovod 0.28. What happens underneath is Springtide's: newcomers join when they are
ready and not before, those that leave do so between two steps, and nobody is started again.

    world         init, rank, size: who and where we are, before and after the first generation
    reduction     Average, Sum; what of Horovod is not offered, and why
    objects       any Python value, among all ranks
    states        elastic states: commit, check_host_updates, reset callbacks
    running       elastic.run
    reducing      optimizers and tapes that work with the gradients of all ranks
    samplers      ElasticSampler
    compression   gradients as they are; the frameworks add floats of half the size
    torch, tensorflow, tensorflow.keras
"""
