# SPDX-License-Identifier: Apache-2.0
"""What runs inside training processes: `tiderun`, and the library that lets a program change its size while it trains.

Standard library alone; NumPy, PyTorch, TensorFlow and JAX are used where a program uses them.
"""
