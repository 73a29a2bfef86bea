# SPDX-License-Identifier: Apache-2.0
"""Checks of names for the objects made for a job."""

from __future__ import annotations

import re
from typing import Final

LABEL_LENGTH: Final = 63
_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"


_CONTAINER: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
PATH_LENGTH: Final = 4096


def container_complaints(name: str) -> list[str]:
    """Why a container cannot have this name, in Kubernetes' wording."""
    complaints = []
    if len(name) > LABEL_LENGTH:
        complaints.append(f"must be no more than {LABEL_LENGTH} characters")
    if re.fullmatch(_CONTAINER, name) is None:
        complaints.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            f"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            f"'{_CONTAINER}')"
        )
    return complaints


def mount_path_complaints(path: str) -> list[str]:
    """Why the path cannot be a mount path."""
    complaints = []
    if not path.startswith("/"):
        complaints.append("must be an absolute path")
    if ".." in path.split("/"):
        complaints.append("must not contain '..'")
    if ":" in path:
        complaints.append("must not contain ':'")
    if _CONTROL.search(path):
        complaints.append("must not contain control characters")
    if len(path.encode()) > PATH_LENGTH:
        complaints.append(f"must be no more than {PATH_LENGTH} bytes")
    return complaints


def label_complaints(name: str) -> list[str]:
    """Why a name is not a DNS-1035 label, in Kubernetes' wording: it is the name of a host, and of a Service too."""
    complaints = []
    if len(name) > LABEL_LENGTH:
        complaints.append(f"must be no more than {LABEL_LENGTH} characters")
    if re.fullmatch(_LABEL, name) is None:
        complaints.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            f"validation is '{_LABEL}')"
        )
    return complaints
