"""More hostile sites, of the kinds of `hostile_responses.jsonl`: charsets, redirects, robots.txt, XML, gzip, markup.

What each may cost is what the others may; none reaches a host that is not its own.
"""

from __future__ import annotations

import gzip

from tests.faults.hostile import OPEN, Recipe, entry, honest, map_of
from tests.stand_ins.site import HTML, page, redirect, text

ODDITIES: dict[str, Recipe] = {
    "huge charset name": (
        lambda root: honest(root, a=(200, {"content-type": "text/html; charset=" + "x" * 60000}, page("Page a")[2])),
        None,
    ),
    "charset unicode_escape": (
        lambda root: honest(root, a=(200, {"content-type": "text/html; charset=unicode_escape"}, page("Page a")[2])),
        None,
    ),
    "charset zlib_codec": (
        lambda root: honest(root, a=(200, {"content-type": "text/html; charset=zlib_codec"}, page("Page a")[2])),
        None,
    ),
    "charset idna": (
        lambda root: honest(
            root, a=(200, {"content-type": "text/html; charset=idna"}, b"<title>Page a</title>" + b"a." * 500000)
        ),
        None,
    ),
    "utf-7 page": (
        lambda root: honest(root, a=(200, {"content-type": "text/html; charset=utf-7"}, b"+ADw-script+AD4-" * 10000)),
        None,
    ),
    "base javascript": (lambda root: entry(root, page("Home", "/a", "/b", head='<base href="javascript:x">')), None),
    "base elsewhere": (
        lambda root: entry(root, page("Home", "a", "b", head='<base href="http://169.254.169.254/">')),
        None,
    ),
    "meta refresh inside": (
        lambda root: honest(
            root, a=page("Page a", head='<meta http-equiv=refresh content="0;url=http://169.254.169.254/">')
        ),
        None,
    ),
    "canonical inside": (
        lambda root: honest(root, a=page("Page a", head='<link rel=canonical href="http://127.0.0.1/a">')),
        None,
    ),
    "redirect file": (lambda root: honest(root, a=redirect("file:///etc/passwd")), None),
    "redirect gopher": (lambda root: honest(root, a=redirect("gopher://127.0.0.1:6379/_x")), None),
    "redirect crlf": (lambda root: honest(root, a=redirect("/b%0d%0aSet-Cookie:x")), None),
    "redirect long": (lambda root: honest(root, a=redirect("/" + "x" * 60000)), None),
    "robots 1MB lines": (
        lambda root: honest(
            root, robots_txt=text("User-agent: *\nDisallow: /" + "*a" * 200000 + "\n" + "Sitemap: " + "x" * 100000)
        ),
        None,
    ),
    "robots many rules": (
        lambda root: honest(
            root, robots_txt=text("User-agent: *\n" + "".join(f"Disallow: /*{i}*b*c*d$\n" for i in range(30000)))
        ),
        None,
    ),
    "robots delay 1e9": (lambda root: honest(root, robots_txt=text("User-agent: *\nCrawl-delay: 999999999\n")), None),
    "robots 10k sitemaps": (
        lambda root: honest(root, robots_txt=text("".join(f"Sitemap: {root}/s{i}.xml\n" for i in range(10000)))),
        None,
    ),
    "robots sitemaps inside": (
        lambda root: honest(
            root,
            robots_txt=text(
                "Sitemap: http://169.254.169.254/x.xml\nSitemap: http://[::1]/\nSitemap: file:///etc/passwd\n"
            ),
        ),
        None,
    ),
    "loc inside": (
        map_of(OPEN + "<url><loc>http://169.254.169.254/</loc></url><url><loc>http://localhost/a</loc></url></urlset>"),
        None,
    ),
    "pi flood": (map_of(OPEN + "<?x y?>" * 500000 + "</urlset>"), None),
    "cdata flood": (map_of(OPEN + "<url><loc><![CDATA[" + "x" * 5_000_000 + "]]></loc></url></urlset>"), None),
    "ns flood": (map_of("<urlset " + " ".join(f'xmlns:n{i}="http://x/{i}"' for i in range(50000)) + "/>"), None),
    "long element": (map_of(OPEN + "<" + "a" * 5_000_000 + "/></urlset>"), None),
    "deep retry-after": (lambda root: {f"{root}/": (503, {"retry-after": "99999999999999999999"}, b"")}, None),
    "retry-after date far": (
        lambda root: {f"{root}/robots.txt": (503, {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, b"")},
        None,
    ),
    "etag huge": (
        lambda root: honest(root, a=(200, {**HTML, "etag": '"' + "x" * 60000 + '"'}, page("Page a")[2])),
        None,
    ),
    "gz in gz map": (map_of(gzip.compress(gzip.compress((OPEN + "</urlset>").encode()))), None),
    "multi member gz": (map_of(gzip.compress(b" ") * 200_000), None),
    "empty members": (
        lambda root: honest(root, a=(200, {**HTML, "content-encoding": "gzip"}, gzip.compress(b"") * 100_000)),
        None,
    ),
    "link header flood": (
        lambda root: honest(
            root,
            a=(
                200,
                {**HTML, "link": ", ".join(f"<http://169.254.169.254/{i}>; rel=canonical" for i in range(1000))},
                page("Page a")[2],
            ),
        ),
        None,
    ),
    "entities in title": (lambda root: honest(root, a=page("&#x202e;&#0;&#xD800;&#x10FFFF;&amp;" * 5000)), None),
    "markdown title": (lambda root: honest(root, a=page("](javascript:alert(1)) [x](http://evil) # H\n> q")), None),
    "attr flood page": (
        lambda root: honest(
            root, a=(200, HTML, b"<title>Page a</title><p " + b" ".join(b"a%d=1" % i for i in range(150000)) + b">x")
        ),
        None,
    ),
    "unclosed a": (lambda root: honest(root, a=(200, HTML, b"<title>Page a</title>" + b"<a href=/b>" * 150000)), None),
}
