# SPDX-License-Identifier: Apache-2.0
"""A small neural network that recognizes digits: 64 pixels, 64 hidden units, 10 digits. NumPy; pure."""

from __future__ import annotations

from typing import Any

import numpy as np

Weights = dict[str, Any]


def fresh(seed: int = 0) -> Weights:
    chance = np.random.default_rng(seed)
    return {
        "hidden": chance.normal(0, 1 / 8, (64, 64)),
        "hidden bias": np.zeros(64),
        "digit": chance.normal(0, 1 / 8, (64, 10)),
        "digit bias": np.zeros(10),
    }


def read(weights: Weights, pixels: Any) -> tuple[Any, Any]:
    """The activations of the hidden layer, and the probability of each digit."""
    hidden = np.maximum(pixels @ weights["hidden"] + weights["hidden bias"], 0)
    scores = hidden @ weights["digit"] + weights["digit bias"]
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, likely / likely.sum(axis=1, keepdims=True)


def learned(weights: Weights, pixels: Any, digits: Any) -> tuple[Weights, float]:
    """The mean gradient and loss of some samples; zeros for none, as at the end of an epoch."""
    count = max(len(digits), 1)
    hidden, likely = read(weights, pixels)
    loss = -np.log(likely[np.arange(len(digits)), digits] + 1e-12).sum() / count
    wrong = (likely - np.eye(10)[digits]) / count
    back = (wrong @ weights["digit"].T) * (hidden > 0)
    gradient = {
        "hidden": pixels.T @ back,
        "hidden bias": back.sum(axis=0),
        "digit": hidden.T @ wrong,
        "digit bias": wrong.sum(axis=0),
    }
    return gradient, float(loss)


def accuracy(weights: Weights, pixels: Any, digits: Any) -> float:
    _, likely = read(weights, pixels)
    return float((likely.argmax(axis=1) == digits).mean())
