# SPDX-License-Identifier: Apache-2.0
"""Names that objects made for a job will have to bear."""

from __future__ import annotations

import re
from typing import Final

LABEL_LENGTH: Final = 63
_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"


def label_complaints(name: str) -> list[str]:
    """Why a name is no DNS-1035 label, in Kubernetes' words: it names a host, and a Service too."""
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
