"""The whole template of every stage: a change detector, to be read in review like code."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.cdk.conftest import STAGES, Synth, scrubbed


@pytest.mark.parametrize("stage", STAGES)
def test_the_template_is_the_one_that_was_reviewed(synth: Synth, stage: str, snapshot: SnapshotAssertion) -> None:
    """Read the difference before you update it (`--snapshot-update`)."""
    assert scrubbed(synth(stage)) == snapshot(extension_class=JSONSnapshotExtension)
