"""Every store that can hold published files and states; one contract runs on all of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from runtime.ports import Publisher, States
from runtime.publish.folder import FolderPublisher, FolderStates
from runtime.publish.s3 import S3Publisher, S3States
from tests.stand_ins.s3 import S3Server, s3_server

__all__ = ["s3_server"]

PUBLIC = "https://pub-abc123.r2.dev"
_numbers = itertools.count()


@pytest.fixture
def bucket(s3_server: S3Server) -> str:
    """A bucket nobody has used."""
    return s3_server.make_bucket(f"bucket-{next(_numbers)}")


@pytest.fixture(params=["folder", "s3"])
def publisher(request: pytest.FixtureRequest, tmp_path: Path) -> Publisher:
    if request.param == "folder":
        return FolderPublisher(tmp_path / "public", PUBLIC)
    return S3Publisher(request.getfixturevalue("s3_server").client(), request.getfixturevalue("bucket"), PUBLIC)


@pytest.fixture(params=["folder", "s3"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> States:
    if request.param == "folder":
        return FolderStates(tmp_path / "states")
    return S3States(request.getfixturevalue("s3_server").client(), request.getfixturevalue("bucket"))
