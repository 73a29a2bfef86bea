# SPDX-License-Identifier: Apache-2.0
"""JSON and YAML as Go's encoders write them, as Arena's users know them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Go escapes what browsers might take for a tag."""


def json_text(document: Any) -> str:
    """With an indentation of four spaces, in the order of the document, without a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(document), indent=4).decode().translate(_ESCAPED)


def yaml_text(document: Any) -> str:
    """Texts that YAML would read as something else are in double quotes."""
    # Imported here because it takes longer than most commands, and YAML is seldom asked for.
    import yaml  # noqa: PLC0415

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        plain = dumper.resolve(yaml.ScalarNode, value, (True, False)) == _TEXT
        style = "|" if "\n" in value else None if plain else '"'
        return dumper.represent_scalar(_TEXT, value, style=style)

    Dumper.add_representer(str, text)
    found: str = yaml.dump(
        document, Dumper=Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=float("inf")
    )
    return found


_TEXT: Final = "tag:yaml.org,2002:str"
