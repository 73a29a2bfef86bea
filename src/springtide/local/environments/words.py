# SPDX-License-Identifier: Apache-2.0
"""What to tell somebody whose program is not there: nothing is pulled here, so the cure is an environment, or a package
of this machine for what no environment can have."""

from __future__ import annotations

import posixpath
import shlex

from springtide.local.environments.environment import OWN, Environment

_OF_THE_MACHINE = {"sshd": "openssh-server", "ssh": "openssh-client", "scp": "openssh-client"}


def explain_missing(image: str, environment: Environment, program: str = "") -> str:
    """For a command that was not found in a container, after the words that say so."""
    if package := _OF_THE_MACHINE.get(posixpath.basename(program)):
        return (
            f'image "{image}" is not pulled, and pods use the {posixpath.basename(program)} of this machine. '
            f"Install it: apt-get install {package}, or the package of your system that has it"
        )
    return f"{_stands_for(image, environment)}. {_cure(image, environment)}"


def explain_no_command(image: str, environment: Environment, field: str) -> str:
    """For a container that leaves its command to the image."""
    return (
        f"no command: {_stands_for(image, environment)}, and an environment has no command of its own. "
        f"Write the image's command into {field}"
    )


def _stands_for(image: str, environment: Environment) -> str:
    what = "the environment that runs tide" if environment.name == OWN else f'environment "{environment.name}"'
    return f'image "{image}" is not pulled but runs in {what} ({environment.prefix})'


def _cure(image: str, environment: Environment) -> str:
    if environment.name == OWN:
        return f"Make one that has it: tide env create NAME --pip PACKAGE --image {shlex.quote(_any_tag(image))}"
    return f"Make it anew with what is missing: tide env create {environment.name} --replace {_recipe(environment)}"


def _recipe(environment: Environment) -> str:
    """What it was made of, and a place for what is missing."""
    files = [word for word in environment.requirements if word.startswith("-r ")]
    packages = [word for word in environment.requirements if word not in files]
    words = ["--pip", *(shlex.quote(package) for package in packages), "PACKAGE"]
    for file in files:
        words += ["-r", shlex.quote(file.removeprefix("-r "))]
    for image in environment.images:
        words += ["--image", shlex.quote(image)]
    for shown in environment.files:
        words += ["--files", shlex.quote(f"{shown.source}:{shown.target}")]
    words += ["--workdir", shlex.quote(environment.workdir)] if environment.workdir else []
    return " ".join(words)


def _any_tag(image: str) -> str:
    folder, slash, last = image.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}:*"
