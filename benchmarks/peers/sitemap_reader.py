# mypy: ignore-errors
"""Reads sitemap files: `sitemap_reader.py scrapy|usp|iterparse FILE...`. Prints CPU seconds of reading, URLs, date."""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path

library, files = sys.argv[1], sys.argv[2:]


def plain(name):
    data = Path(name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


if library == "scrapy":
    from scrapy.utils.sitemap import Sitemap

    def read(data):
        return [(entry["loc"], entry.get("lastmod")) for entry in Sitemap(data)]

elif library == "usp":
    from usp.tree import sitemap_from_str

    def read(data):
        tree = sitemap_from_str(data.decode())
        return [(page.url, page.last_modified and page.last_modified.isoformat()) for page in tree.all_pages()]

else:
    import io

    from lxml import etree

    def read(data):
        found, loc, lastmod = [], None, None
        for _, node in etree.iterparse(io.BytesIO(data)):
            name = node.tag.rpartition("}")[2]
            if name == "loc":
                loc = node.text
            elif name == "lastmod":
                lastmod = node.text
            elif name == "url":
                found.append((loc, lastmod))
                loc = lastmod = None
                node.clear()
        return found


used, urls, newest = 0.0, 0, ""
for name in files:
    began = time.process_time()
    entries = read(plain(name))
    used += time.process_time() - began
    urls += len(entries)
    newest = max(newest, *((date or "")[:19] for _, date in entries))
    del entries
print(json.dumps({"urls": urls, "newest": newest, "cpu": used}))
