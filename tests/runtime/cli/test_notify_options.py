"""Notifications on a laptop: the address of a site is an option, that of the service comes from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime import environment as env
from runtime.cli.options import given
from runtime.cli.session import Session
from runtime.errors import Misconfigured


def test_a_sites_address_is_an_option_of_its_enrolment() -> None:
    """Under the request's own name; the empty text turns it off again."""
    assert given(notify_url="https://owner.example/h") == {"notifyUrl": "https://owner.example/h"}
    assert given(notify_url="") == {"notifyUrl": ""}
    assert given(notify_url=None) == {}


def test_the_services_address_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two secrets while one is being rotated; an address that the gate refuses is said at the start."""
    monkeypatch.setenv(env.NOTIFY_URL, "https://ops.example.com/h")
    monkeypatch.setenv(env.NOTIFY_SECRET, "whsec_bmV3,whsec_b2xk")
    settings = Session(home=tmp_path).settings()
    assert (settings.notify_url, settings.notify_secrets) == (
        "https://ops.example.com/h",
        ("whsec_bmV3", "whsec_b2xk"),
    )
    monkeypatch.setenv(env.NOTIFY_URL, "https://127.0.0.1/h")
    with pytest.raises(Misconfigured, match="address for notifications"):
        Session(home=tmp_path).settings()
