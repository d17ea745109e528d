"""Print the JSON Schema of a flow document."""

from __future__ import annotations

import click

from runtime.cli import options
from runtime.cli.streams import result_json


@click.command(
    epilog=options.examples(
        "farthing schema > flow.schema.json",
        "farthing schema | jq '.properties | keys'",
    )
)
def command() -> None:
    """Print the JSON Schema of a flow document with the config of every installed node type.

    Name it as "$schema" in a flow, and an editor completes and checks it while you type.
    """
    from runtime.cli.flow_schema import flow_schema
    from runtime.registry import installed

    result_json(flow_schema(installed().all()))
