"""What the fields of an enrolment, and of a PATCH, may be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.api.conftest import BASE, Service

BOUNDS = {"maxPages": (1, 10_000), "descLength": (50, 2_000), "recrawlIntervalMinutes": (60, 525_600)}


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
async def test_both_bounds_of_a_number_are_allowed(service: Service, name: str, bounds: tuple[int, int]) -> None:
    """The lowest and the highest value are taken, at enrolment and by PATCH."""
    site = await service.enroll(BASE, **{name: bounds[0]})
    changed = await service.call("PATCH", f"/sites/{site['id']}", {name: bounds[1]})

    assert site[name] == bounds[0]
    assert (changed.status, changed.body[name]) == (200, bounds[1])


@pytest.mark.parametrize("schedule", ["fixed", "ewma", "learned", "default"])
@pytest.mark.parametrize("weight", [0.01, 3, 100])
async def test_a_schedule_and_a_weight_are_taken(service: Service, schedule: str, weight: float) -> None:
    """At enrolment and by PATCH; `default` is the deployment's again."""
    site = await service.enroll(BASE, schedule=schedule, weight=weight)
    changed = await service.call("PATCH", f"/sites/{site['id']}", {"weight": 1, "schedule": "default"})

    assert (site["schedule"], site["weight"]) == (schedule, weight)
    assert (changed.status, changed.body["schedule"], changed.body["weight"]) == (200, "default", 1)


NO_NUMBER: list[Any] = [None, True, "60", 60.0, 1e3, [60], {}]
FLAGS = ("adaptive", "requireSignature", "enableAutoUpdate", "llmEnhance", "useBrightdata")
NO_FLAG: list[Any] = [None, 1, "true", []]
NO_GLOBS: list[Any] = [None, "docs/**", [1], {"a": 1}, ["a\nb"], ["\0"], [f"p{n}" for n in range(101)]]
BAD: list[tuple[str, Any]] = [
    *[(name, value) for name, (low, high) in BOUNDS.items() for value in (low - 1, high + 1, 0, -5, 10**12)],
    *[(name, value) for name in BOUNDS for value in NO_NUMBER],
    *[(name, value) for name in FLAGS for value in NO_FLAG],
    *[(name, value) for name in ("include", "exclude") for value in NO_GLOBS],
    ("include", ["x" * 501]),
    ("notifyUrl", None),
    ("notifyUrl", 5),
    ("notifyUrl", "hooks.example.com"),
    ("notifyUrl", "ftp://hooks.example.com/"),
    ("notifyUrl", "https://user:secret@hooks.example.com/"),
    ("notifyUrl", "http://169.254.169.254/latest"),
    ("notifyUrl", "https://hooks.example.com:22/"),
    ("notifyUrl", "https://hooks.example.com/" + "x" * 2_048),
    *[("schedule", value) for value in (None, "", "daily", "FIXED", 1, True, ["fixed"])],
    *[("weight", value) for value in (None, True, "1", 0, 0.001, 100.1, -1, 1e300, [1])],
    ("policy", "learned"),
    ("maxpages", 5),
    ("max_pages", 5),
    ("webhook_secret", "whsec_mine"),
    ("id", "1"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
async def test_a_field_out_of_bounds_is_named(service: Service, name: str, value: Any) -> None:
    """422 says which field is wrong and changes nothing, at enrolment and by PATCH (clk-025)."""
    refused = await service.call("POST", "/sites", {"url": "https://other.example.com", name: value})
    site = await service.enroll()
    before = await service.sites.get(site["id"])
    kept = await service.call("PATCH", f"/sites/{site['id']}", {name: value})
    if name == "enableAutoUpdate" and value is None:
        assert kept.status == 200
    else:
        assert (kept.status, kept.body["field"]) == (422, name)

    assert (refused.status, refused.body["field"]) == (422, name)
    assert set(refused.body) == {"detail", "code", "request_id", "field"}
    assert await service.sites.get(site["id"]) == before
    assert [row.base_url for row in await service.sites.list_sites()] == [BASE]


@pytest.mark.parametrize(
    "url",
    [
        None, 5, "", "docs.example.com", "ftp://docs.example.com", "https://user@docs.example.com", "https://",
        "http://127.0.0.1/", "http://localhost/", "https://10.0.0.1", "https://docs.example.com:22", "javascript:alert(1)",
 "https://" + "a" * 300 + ".com", "file:///etc/passwd", "https://exa mple.com",
    ],
)  # fmt: skip
async def test_an_address_that_may_not_be_fetched_is_not_enrolled(service: Service, url: Any) -> None:
    """422 that names `url`; no row is made."""
    answer = await service.call("POST", "/sites", {"url": url})

    assert (answer.status, answer.body["field"]) == (422, "url")
    assert await service.sites.list_sites() == []


async def test_an_enrolment_needs_an_address(service: Service) -> None:
    answer = await service.call("POST", "/sites", {})

    assert (answer.status, answer.body["field"]) == (422, "url")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b'{"maxPages": NaN}'])
async def test_a_body_that_is_no_object_is_a_bad_request(service: Service, body: bytes) -> None:
    """400, before any field is looked at (clk-025, NaN)."""
    assert (await service.call("POST", "/sites", body)).status == 400


async def test_long_lists_of_globs_fit(service: Service) -> None:
    """Two lists of a hundred globs of 500 characters, the most that is allowed, are within the size of a body."""
    globs = [f"{n:03}" + "ü" * 497 for n in range(100)]
    site = await service.enroll(include=globs, exclude=globs)

    assert (site["include"], site["exclude"]) == (globs, globs)
    too_large = await service.call("POST", "/sites", b'{"url": "' + b" " * 1_048_576)
    assert (too_large.status, too_large.body["code"]) == (413, "too_large")


async def test_globs_are_trimmed_and_each_kept_once(service: Service) -> None:
    site = await service.enroll(include=[" docs/** ", "", "docs/**", "blog/*"])

    assert site["include"] == ["docs/**", "blog/*"]
