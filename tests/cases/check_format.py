"""Compare a formatted file with the expectations of op `format`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.corpus import Answer
from tests.cases.markdown import EMPHASIS, Document, Link, read, reference_items
from tests.cases.spelling import norm, text

FormatCheck = Callable[[str, Any, Answer, Document, dict[str, Any]], Iterator[str]]


def check_format(expect: dict[str, Any], got: Answer) -> list[str]:
    """The differences between the text in `got` and the keys of `expect` that are about the text."""
    if not expect:
        return []
    if got.get("text") is None:
        return ["no text"]
    document = read(got["text"])
    found: list[str] = []
    for key, want in expect.items():
        one = _CHECKS.get(key)
        found += one(key, want, got, document, expect) if one else [f"unknown expectation {key}"]
    return found


def _h1(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    right = {
        "h1": [text(title) for title in doc.h1] == [want],
        "h1_any": len(doc.h1) == 1 and isinstance(want, list) and text(doc.h1[0]) in want,
        "h1_count": len(doc.h1) == want,
        "headings": doc.h1 == want,
    }[key]
    if not right:
        yield f"{key}: want {want!r}, got {doc.h1!r}"


def _headings_exclude(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    titles = {title.strip() for _, title in doc.headings}
    yield from (f"heading {title!r} appeared" for title in want if title in titles)


def _valid(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    source = got["text"]
    if not re.match(r"# \S", source.lstrip("\ufeff")):
        yield "valid: the first line is no H1"
    if len(doc.h1) != 1:
        yield f"valid: {len(doc.h1)} H1"
    if any(level > 2 for level, _ in doc.headings):
        yield f"valid: deeper heading {doc.headings!r}"
    if None in reference_items(source):
        yield 'valid: a line under an H2 is not "- [name](url)"'
    if any(ord(char) < 32 and char != "\n" for char in source):
        yield "valid: control character"


def _by_url(doc: Document) -> dict[str | None, list[Link]]:
    links: dict[str | None, list[Link]] = {}
    for link in doc.links:
        links.setdefault(norm(link.url), []).append(link)
    return links


def _links(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    links = _by_url(doc)
    for item in want:
        url = item if isinstance(item, str) else item["url"]
        found = links.get(norm(url))
        if not found:
            yield f"no link to {url}"
        elif key == "no_desc":
            if found[-1].desc.strip():
                yield f"{url} has a description {found[-1].desc!r}"
        elif isinstance(item, dict):
            yield from _link(url, item, found[-1])


def _link(url: str, want: dict[str, Any], link: Link) -> Iterator[str]:
    shown = text(link.text.replace(EMPHASIS, "*").replace("\xa0", " "))
    allowed = want.get("text_any") or ([want["text"]] if want.get("text") is not None else None)
    if allowed is not None and shown not in [text(value) for value in allowed]:
        yield f"{url}: link text want {allowed!r} got {shown!r}"
    if want.get("text_nonempty") and not shown:
        yield f"{url}: empty link text"
    if "desc" in want and text(re.sub(r"^:\s*", "", link.desc)) != text(want["desc"]):
        yield f"{url}: description want {want['desc']!r} got {link.desc!r}"


def _urls_exclude(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    links = _by_url(doc)
    yield from (f"link to {url}" for url in want if norm(url) in links)


def _reference_parser(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    seen = {norm(item[1]) for item in reference_items(got["text"]) if item}
    wanted = [norm(item["url"]) for item in expect.get("links_include", ())]
    if missing := [url for url in wanted if url not in seen]:
        yield f"the reference parser does not see {missing}"


def _list_items(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    if key == "list_items" and len(doc.links) != want:
        yield f"list_items: want {want}, got {len(doc.links)}"
    if key == "list_items_unique" and len(_by_url(doc)) != len(doc.links):
        yield "a page is listed twice"


def _no_raw_html(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    if raw := [html for html in doc.raw_html if not html.startswith("<!--")]:
        yield f"raw HTML: {raw[:2]!r}"


def _blockquote(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    quote = " ".join(doc.quotes)
    yield from (f"the block quote lacks {word!r}" for word in want if word not in quote)


def _max_line(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    if (longest := max(map(len, got["text"].split("\n")))) > want:
        yield f"a line of {longest} characters"


def _identical(key: str, want: Any, got: Answer, doc: Document, expect: dict[str, Any]) -> Iterator[str]:
    if len(set(got.get("texts") or ())) != 1:
        yield f"{key}: the texts differ"


_CHECKS: dict[str, FormatCheck] = (
    dict.fromkeys(("h1", "h1_any", "h1_count", "headings"), _h1)
    | dict.fromkeys(("links_include", "urls_include", "no_desc"), _links)
    | dict.fromkeys(("list_items", "list_items_unique"), _list_items)
    | dict.fromkeys(("identical_under_shuffle", "identical_under_clock"), _identical)
    | {"headings_exclude": _headings_exclude, "urls_exclude": _urls_exclude, "valid": _valid}
    | {"reference_parser": _reference_parser, "no_raw_html": _no_raw_html}
    | {"blockquote_contains": _blockquote, "max_line": _max_line}
)
