"""The page of `serve` in a real browser: the live log, the result, the enrolment, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.live import ENABLED
from tests.runtime.live.conftest import KEY, Live
from tests.stand_ins.browser import MISSING, PROGRAM, Page, opened_page

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=MISSING)

READ = """({
    error: error.textContent, log: at("log").textContent, result: at("result").textContent,
    link: at("link").href, enrolled: at("enrolled").hidden ? "" : at("enrolled").textContent,
    shown: ["log", "result", "published"].filter(id => !at(id).hidden), busy: at("start").disabled
})"""


async def submit(page: Page, **fields: Any) -> dict[str, Any]:
    """Fill the form as a person would, press the button, and read what is there when it has ended."""
    filled = json.dumps(fields)
    await page.evaluate(f"""
        new Promise(resolve => {{
            delete document.body.dataset.state;
            for (const [id, value] of Object.entries({filled})) {{
                if (typeof value == "boolean") at(id).checked = value; else at(id).value = value;
            }}
            new MutationObserver((_, observer) => {{
                if (document.body.dataset.state) {{ observer.disconnect(); resolve(); }}
            }}).observe(document.body, {{attributes: true}});
            at("start").click();
        }})
    """)
    read: dict[str, Any] = await page.evaluate(READ)
    return read


async def test_the_form_crawls_enrols_and_says_what_is_wrong(live: Live, tmp_path: Path) -> None:
    """A wrong key, a bad address, a crawl to look at, and an enrolment, one after another in one page."""
    async with opened_page(tmp_path / "profile") as page:
        await page.go(f"http://{live.address}/")
        wrong = await submit(page, key="wrong", url=live.site.url, pages="10")
        refused = await submit(page, key=KEY, url="http://169.254.169.254/")
        looked = await submit(page, url=live.site.url)
        kept = await submit(page, auto=True, interval="1440")
        violations = [line for line in page.console if "Content Security Policy" in line or "exception" in line]

    (row,) = await live.world.sites.list_sites()
    assert (wrong["error"], wrong["result"]) == ("The API key is not valid.", "")
    assert refused["error"].startswith("url: ")
    assert (looked["error"], looked["enrolled"], looked["busy"]) == ("", "", False)
    assert looked["shown"] == ["log", "result"]
    assert "Visiting: " in looked["log"]
    assert looked["result"].startswith("# ")
    assert kept["shown"] == ["log", "result", "published"]
    assert ENABLED in kept["log"]
    assert row.webhook_secret in kept["enrolled"]
    assert kept["link"] == row.latest_llms_url
    assert row.options.recrawl_interval_minutes == 1440
    assert violations == []


async def test_what_a_site_says_is_shown_as_text(live: Live, tmp_path: Path) -> None:
    """Markup in a title does not become part of the page."""
    evil = "<img src=x onerror=document.title='owned'>"
    live.site.site.retitle("/", evil)
    async with opened_page(tmp_path / "profile") as page:
        await page.go(f"http://{live.address}/")
        seen = await submit(page, key=KEY, url=live.site.url, pages="5")
        title, images = await page.evaluate("document.title"), await page.evaluate("document.images.length")

    assert seen["result"]
    assert (title, images) == ("llms.txt", 0)
