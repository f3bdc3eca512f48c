"""`simrunner analyze`: judge a stored run again, from its folder alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from simrunner.errors import RecordingFailed, RunFolderError


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def analyze(folder: Path, as_json: bool) -> int:
    """Judge a stored run again, without a server. RUN is its folder, such as results/latest.

    Of an acceptance the evidence is compared with its manifest and the decision is made again from the stored runs. Of a
    campaign the report is shown again.
    """
    from simrunner.cli.campaigning import show
    from simrunner.cli.deciding import decide_again
    from simrunner.cli.verdict import conclude
    from simrunner.report.acceptance.acceptance import is_acceptance
    from simrunner.search.campaign import is_campaign
    from simrunner.store.folder import RUNNING, RunFolder
    from simrunner.store.seal import seal

    opened = RunFolder.open(folder)
    if opened.status() == RUNNING:
        raise RunFolderError("is still running; wait for its end or stop it", place=folder)
    if is_acceptance(opened):
        return decide_again(opened, as_json=as_json)
    if is_campaign(opened):
        return show(opened, as_json=as_json)
    with suppress(RecordingFailed):  # a folder that cannot be written is read as it is
        seal(opened)
    return conclude(opened, as_json=as_json)[1]
