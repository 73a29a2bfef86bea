# SPDX-License-Identifier: Apache-2.0
"""Programs that stand in for those of well-known training images, and the small data set that they learn from.

    digits          1,797 handwritten digits, which come with the product
    network         a small neural network, forward and backward, in NumPy
    training        what all stand-ins have in common: the first line, the pace, elastic training
    mnist           for Horovod's tensorflow_mnist.py
    mnist_elastic   for Horovod's tensorflow2_mnist_elastic.py
    tf_cnn_benchmarks

A stand-in says so in its first line. It really trains, on all ranks together, and needs NumPy alone. `tide env create
--preset` copies this package into the environments that it makes, and the programs to the paths that images have them
at.
"""
