"""The whole template of every stage: a change detector, to be read in review like code."""

from __future__ import annotations

import json
import re

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.cdk.conftest import STAGES, Synth


@pytest.mark.parametrize("stage", STAGES)
def test_the_template_is_the_one_that_was_reviewed(synth: Synth, stage: str, snapshot: SnapshotAssertion) -> None:
    """Asset hashes are scrubbed: a change of the runtime's code is no change of the infrastructure."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "<asset-hash>", json.dumps(synth(stage)))
    assert json.loads(text) == snapshot(extension_class=JSONSnapshotExtension)
