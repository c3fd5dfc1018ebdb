"""Where a sitemap is looked for when nobody said where it is."""

from __future__ import annotations

from typing import Final

from runtime import urls

USUAL: Final = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap.txt",
    "/sitemap.xml.gz",
)


def places(base_url: str, sentinel_url: str | None) -> list[str]:
    """Where to look: the sitemap that worked last time, then the usual names below the base path and the origin."""
    origin = urls.origin(base_url)
    segments = urls.path_segments(base_url)
    if segments and "." in segments[-1]:  # a page stands for its directory
        segments = segments[:-1]
    base = "/".join((origin, *segments))
    usual = [f"{top}{name}" for name in USUAL for top in dict.fromkeys((base, origin))]
    return list(dict.fromkeys(filter(None, (sentinel_url, *usual))))
