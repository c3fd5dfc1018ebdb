"""Pages that a reader in a hurry can skip: legal texts, news of releases, the company's own affairs.

Known by whole path segments, never by a part of a word: `golden-retrievers` is not old, `/docs/jobs` is not a career.
"""

from __future__ import annotations

from runtime.document.paths import key_of

_ANYWHERE = frozenset((
    "privacy-policy", "privacy-notice", "privacy-statement", "terms-of-service", "terms-of-use",
    "terms-and-conditions", "terms-conditions", "cookie-policy", "cookies-policy", "legal-notice", "legal-notices",
    "imprint", "impressum", "datenschutz", "datenschutzerklaerung", "agb", "mentions-legales",
    "politique-de-confidentialite", "politica-de-privacidad", "aviso-legal", "informativa-privacy", "disclaimer",
    "code-of-conduct", "acceptable-use-policy", "dmca", "gdpr", "ccpa", "trademark-policy", "trademarks",
    "changelog", "changelogs", "change-log", "release-notes", "releasenotes",
))  # fmt: skip
"""Names that mean the same at any depth, as a directory or as a page."""

_DIRECTORIES = frozenset((
    "legal", "archive", "archives", "legacy", "deprecated", "obsolete", "old",
))  # fmt: skip
"""Names that mean this of everything below them: `/docs/legacy/setup`, but not the page `/commands/archive`."""

_AT_THE_TOP = frozenset((
    "privacy", "terms", "tos", "legal", "cookie", "cookies", "license", "licence", "licenses", "licences",
    "copyright", "accessibility", "sitemap", "site-map", "release", "releases", "changes", "history",
    "news-archive", "contributing", "contribute", "contributors", "governance", "team", "careers", "career", "jobs",
    "job", "contact", "contact-us", "company", "press", "investors", "social", "twitter", "github", "linkedin",
    "facebook", "archive", "archives", "old", "legacy", "deprecated", "obsolete", "attic", "tag", "tags",
    "category", "categories", "author", "authors", "credits", "acknowledgements", "acknowledgments", "colophon",
    "thanks", "sponsors", "donate", "search", "genindex",
))  # fmt: skip
"""Names that mean this only as the first segment: deeper, `jobs` or `releases` is a subject of the documentation."""


def is_secondary(segments: tuple[str, ...]) -> bool:
    """Whether a page belongs under `Optional`; `segments` is its path below the site's base URL."""
    keys = [key_of(segment) for segment in segments]
    return bool(keys) and (
        keys[0] in _AT_THE_TOP or any(key in _ANYWHERE for key in keys) or any(key in _DIRECTORIES for key in keys[:-1])
    )
