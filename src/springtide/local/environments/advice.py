# SPDX-License-Identifier: Apache-2.0
"""Messages about a missing image or program, each ending with a command that solves the problem.

Nothing is pulled here, so the remedy is an environment, or a package of this machine for what no environment can
contain.
"""

from __future__ import annotations

import difflib
import posixpath
import re
import shlex

from springtide import messages
from springtide.local.environments import presets
from springtide.local.environments.environment import OWN, Environment
from springtide.local.environments.presets import Preset

_ALIKE = 0.75
_OF_THE_MACHINE = {
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "scp": "openssh-client",
    "git": "git",
    "rsync": "rsync",
}


def explain_unmade(image: str, preset: Preset) -> str:
    """For an image that a preset can replace, but that was not created yet."""
    cost = messages.shown(preset.cost, messages.Language.ENGLISH)
    return (
        "images are not pulled here, and no environment stands in for this one yet. "
        f"Make it ({cost}), and the pod starts by itself: tide env create --for {shlex.quote(image)}"
    )


def explain_absent(image: str, program: str, *, of_args: bool = False) -> str:
    """For an image without an environment, in a container whose program is not on this machine. A container without a
    program, or with `args` alone, relies on the image's."""
    if package := _OF_THE_MACHINE.get(posixpath.basename(program)):
        return f'exec: "{program}": executable file not found: {_of_the_machine(image, program, package)}'
    more: tuple[str, ...] = ()
    if not program:
        lacks, more = "the container has no command", ("--cmd", "COMMAND")
    elif of_args:
        lacks, more = "the container has args but no command", ("--entrypoint", "COMMAND")
    else:
        lacks = f'the environment that runs tide has no "{program}"'
    similar = _similar(image)
    make = f"{similar} Otherwise make one" if similar else "Make one"
    return (
        f"images are not pulled here, no environment stands in for this one, and {lacks}. "
        f"{make}, and the pod starts by itself: {_fresh(image, program, *more)}"
    )


def _similar(image: str) -> str:
    """A question about a name that is nearly that of an image which a preset replaces."""
    name = _last(image)
    known = {_last(pattern) for preset in presets.table().values() for pattern in preset.images}
    found = difflib.get_close_matches(name, sorted(known), 1, _ALIKE)
    if not found or name in known:
        return ""
    folder, slash, last = image.rpartition("/")
    return f"Is {folder}{slash}{last.replace(name, found[0], 1)} meant? Then correct the job and delete the pod."


def _last(image: str) -> str:
    return posixpath.basename(image.partition("@")[0]).partition(":")[0]


def explain_missing(image: str, environment: Environment, program: str = "", *, of_args: bool = False) -> str:
    """For a command that was not found in a container, appended to the error. The command may be the first of the
    `args` of a container without a command."""
    if package := _OF_THE_MACHINE.get(posixpath.basename(program)):
        return _of_the_machine(image, program, package)
    if of_args and not environment.entrypoint:
        command = _fresh(image) if environment.name == OWN else _anew(environment)
        return (
            f"{_stands_for(image, environment)}, which has no entrypoint, and the container has args but no command. "
            f"Give the environment an entrypoint: {command} --entrypoint COMMAND"
        )
    cure = f"Correct the command, or make the environment anew with what is missing: {_anew(environment, 'PACKAGE')}"
    if environment.name == OWN:
        cure = f"Correct the command, or make an environment that has it: {_fresh(image, program)}"
    return f"{_stands_for(image, environment)}. {cure}"


def explain_no_command(image: str, environment: Environment, field: str) -> str:
    """For a container without a command, whose image's environment has none either."""
    command = _fresh(image) if environment.name == OWN else _anew(environment)
    return (
        f"no command: {_stands_for(image, environment)}, which has no command of its own. "
        f"Write one into {field}, or give the environment one: {command} --cmd COMMAND"
    )


def _of_the_machine(image: str, program: str, package: str) -> str:
    return (
        f'image "{image}" is not pulled, and pods use the {posixpath.basename(program)} of this machine. '
        f"Install it: apt-get install {package}, or the package of your system that has it"
    )


def _stands_for(image: str, environment: Environment) -> str:
    what = "the environment that runs tide" if environment.name == OWN else f'environment "{environment.name}"'
    return f'image "{image}" is not pulled but runs in {what} ({environment.prefix})'


def _fresh(image: str, program: str = "", *more: str) -> str:
    """The command that creates an environment for an image; from a preset, if one has the program."""
    preset = presets.with_command(posixpath.basename(program))
    content = ["--preset", preset.name] if preset else ["--pip", "PACKAGE"]
    return shlex.join(["tide", "env", "create", _name(image), *content, *more, "--image", _any_tag(image)])


def _anew(environment: Environment, *packages: str) -> str:
    """The command that creates an environment again in the same way, with more packages."""
    words = ["tide", "env", "create", environment.name, "--replace"]
    base = _of_preset(environment)
    words += ["--preset", base.preset] if base.preset else []
    wanted = [word for word in environment.requirements if word not in base.requirements]
    files = [word for word in wanted if word.startswith("-r ")]
    installed = [*(word for word in wanted if word not in files), *packages]
    words += ["--pip", *installed] if installed else []
    for file in files:
        words += ["-r", file.removeprefix("-r ")]
    for image in environment.images:
        words += ["--image", image] if image not in base.images else []
    for shown in environment.files:
        words += ["--files", f"{shown.source}:{shown.target}"] if not shown.copied else []
    words += ["--workdir", environment.workdir] if environment.workdir != base.workdir else []
    for option, command, known in (
        ("--entrypoint", environment.entrypoint, base.entrypoint),
        ("--cmd", environment.cmd, base.cmd),
    ):
        words += [option, shlex.join(command)] if command != known else []
    for name, value in environment.env.items():
        words += ["--env", f"{name}={value}"] if base.env.get(name) != value else []
    return shlex.join(words)


def _of_preset(environment: Environment) -> Environment:
    """What `--preset` alone gives the environment; nothing without a preset. Files of a preset are copied ones."""
    preset = presets.table().get(environment.preset)
    if preset is None:
        return Environment(environment.name, environment.prefix)
    return Environment(
        environment.name,
        environment.prefix,
        preset.images,
        workdir=preset.workdir,
        requirements=preset.requirements,
        entrypoint=preset.entrypoint,
        cmd=preset.cmd,
        env=preset.variables,
        preset=preset.name,
    )


def _name(image: str) -> str:
    """A name for the environment of an image."""
    name = re.sub("[^a-z0-9]+", "-", posixpath.basename(_any_tag(image).removesuffix(":*")).lower()).strip("-")
    return name if name and name != OWN else "NAME"


def _any_tag(image: str) -> str:
    folder, slash, last = image.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}:*"
