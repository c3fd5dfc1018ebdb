# mypy: ignore-errors
"""The crawler of the specification's stack: httpx and BeautifulSoup, page after page, `argv[2]` at most."""

from __future__ import annotations

import sys
from collections import deque
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx
from bs4 import BeautifulSoup
from report import Watch

ORIGIN, PAGES = sys.argv[1], int(sys.argv[2])
watch = Watch()
found: list[tuple[str, str, str]] = []
seen, queue = {f"{ORIGIN}/"}, deque([f"{ORIGIN}/"])
with httpx.Client(follow_redirects=True) as client:
    while queue and len(found) < PAGES:
        url = queue.popleft()
        soup = BeautifulSoup(client.get(url).text, "html.parser")
        meta = soup.find("meta", attrs={"name": "description"})
        found.append((url, soup.title.string, meta["content"] if meta else ""))
        for anchor in soup.find_all("a", href=True):
            target = urldefrag(urljoin(url, anchor["href"]))[0]
            if urlsplit(target).netloc == urlsplit(ORIGIN).netloc and target not in seen:
                seen.add(target)
                queue.append(target)
watch.report(found)
