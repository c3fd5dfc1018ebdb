"""Where a site's objects live under the public domain: `{site}/llms.txt`, `{site}/versions/{sha256}.txt`."""

from __future__ import annotations

from runtime import urls


def public(base_url: str) -> str:
    """The file that readers fetch, as in `docs.example.com/llms.txt`."""
    return f"{urls.site_key(base_url)}/llms.txt"


def section(base_url: str, slug: str) -> str:
    """A part of a document that is too long for one file; named llms.txt as every such file is."""
    return f"{urls.site_key(base_url)}/sections/{slug}/llms.txt"


def version(base_url: str, sha256: str) -> str:
    """An immutable version of the file."""
    return f"{urls.site_key(base_url)}/versions/{sha256}.txt"


def version_section(base_url: str, sha256: str, slug: str) -> str:
    return f"{urls.site_key(base_url)}/versions/{sha256}/{slug}.txt"
