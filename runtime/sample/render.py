"""The sample site's pages as HTML and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from runtime.sample.content import SamplePage

NAME = "Tidewater"
SECTIONS = ("guide", "api", "recipes", "operations", "blog", "about")

HEADER = (
    '<a class="skip" href="#main">Skip to content</a>'
    '<div class="banner">This site sets no cookies, so there is nothing to accept here.</div>'
    '<nav><a href="/">Home</a>'
    + "".join(f'<a href="/{name}/">{name.title()}</a>' for name in SECTIONS)
    + '<a href="/search?q=">Search</a></nav>'
)
FOOTER = (
    '<footer><a href="/legal/privacy/">Privacy</a> <a href="/legal/terms/">Terms</a>'
    ' <a href="/legal/licence/">Licence</a> <a href="/legal/imprint/">Imprint</a>'
    ' <a href="/?utm_source=footer">Start again</a> <a href="/account/login/">Sign in</a>'
    ' <a href="/account/invoices/">Invoices</a> <a href="/admin/queues/">Statistics</a>'
    ' <a href="/guide/moved-away/">Old guide</a> <a href="/downloads/tidewater-1.8.0.tar.gz">Download</a>'
    ' <a href="javascript:print()">Print</a> <a href="mailto:hello@tidewater.invalid">Mail</a></footer>'
)
LOGIN_FORM = (
    '<form method="post"><label>Name <input name="user"></label>'
    '<label>Password <input type="password" name="password"></label><button>Sign in</button></form>'
)
NOT_FOUND = SamplePage(path="/404", title="Page not found", text="There is no page at this address.", robots="noindex")
SHELL = (
    '<!doctype html><html lang="en"><title>Tidewater</title><div id="app"></div><script src="/assets/app.js"></script>'
)


def html(page: SamplePage, base_url: str, children: Sequence[SamplePage] = ()) -> str:
    """A whole HTML document. `children` are listed below the text of a section's index."""
    head = [
        f"<title>{escape(page.title)} | {NAME}</title>",
        f'<link rel="canonical" href="{base_url}{escape(page.canonical or page.path)}">',
        '<link rel="stylesheet" href="/assets/tidewater.css"><script src="/assets/app.js" defer></script>',
        f'<meta property="og:site_name" content="{NAME}">',
    ]
    if page.description:
        head.append(f'<meta name="description" content="{escape(page.description)}">')
    if page.og_description:
        head.append(f'<meta property="og:description" content="{escape(page.og_description)}">')
    if page.robots:
        head.append(f'<meta name="robots" content="{escape(page.robots)}">')
    if page.twin == "alternate":
        head.append(f'<link rel="alternate" type="text/markdown" href="{twin_path(page)}">')
    listing = "".join(f'<li><a href="{escape(child.path)}">{escape(child.title)}</a></li>' for child in children)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{chr(10).join(head)}\n</head>\n<body>\n'
        f'{HEADER}\n<main id="main">\n<h1>{escape(page.title)}</h1>\n{"".join(_blocks(page.text))}'
        f"{LOGIN_FORM if page.kind == 'login' else ''}{f'<ul>{listing}</ul>' if listing else ''}\n"
        f"</main>\n{FOOTER}\n</body>\n</html>\n"
    )


def markdown(page: SamplePage, base_url: str) -> str:
    """The Markdown version of a page; its links are absolute, because it is read away from its place."""
    text = re.sub(r"\]\(/", f"]({base_url}/", page.text)
    summary = f"> {page.description}\n\n" if page.description else ""
    return f"# {' '.join(page.title.split())}\n\n{summary}{text}\n"


def twin_path(page: SamplePage) -> str:
    """Where the Markdown version of a page is: `/dir/index.md`, or `/page.html.md`."""
    return f"{page.path}index.md" if page.path.endswith("/") else f"{page.path}.md"


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n\n+", text):
        if block.startswith("    "):
            yield f"<pre><code>{escape(re.sub(r'^    ', '', block, flags=re.MULTILINE))}</code></pre>\n"
        elif block.startswith("## "):
            yield f"<h2>{_inline(block[3:])}</h2>\n"
        elif block.startswith("- "):
            yield f"<ul>{''.join(f'<li>{_inline(line[2:])}</li>' for line in block.splitlines())}</ul>\n"
        elif block:
            yield f"<p>{_inline(block)}</p>\n"


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)
