"""`simrunner list`: what can be named."""

from __future__ import annotations

import click

KINDS = ("workloads", "designs", "invariants", "faults", "strategies")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print names and titles as JSON.")
def list_(kind: str, as_json: bool) -> int:
    """List what has a name, with titles."""
    from simrunner.cli.catalog import CATALOG
    from simrunner.cli.output import say_json, say_page
    from simrunner.report.page import Page, plain_table

    titles = CATALOG[kind]()
    if as_json:
        say_json([{"name": name, "title": title} for name, title in titles.items()])
        return 0
    table = plain_table("", "")
    for name, title in titles.items():
        table.add_row(name, title)
    say_page(Page(table))
    return 0
