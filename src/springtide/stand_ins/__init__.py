# SPDX-License-Identifier: Apache-2.0
"""Programs that replace those of well-known images, and the small data set that most of them train on.

    digits          1,797 handwritten digits, which are part of the package
    network         a small neural network, forward and backward, in NumPy
    training        shared code of all stand-ins: the first line, the pace, elastic training
    mnist           for Horovod's tensorflow_mnist.py
    mnist_elastic   for Horovod's tensorflow2_mnist_elastic.py
    tf_cnn_benchmarks

    mnist_with_summaries    for TensorFlow's example of this name
    distributed_worker      for a worker of TensorFlow's multi-worker example
    pytorch_dist_mnist      for the PyTorch operator's mnist.py

    git_sync                for git-sync, which fetches code

The first output line of a stand-in states that it is one. All but git_sync really train, on all ranks together. Three
need TensorFlow or PyTorch, git_sync needs git, the others need only NumPy. `tide env create --preset` copies this
package into the environments that it makes, and the programs to their paths in the images.
"""
