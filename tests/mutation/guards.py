"""What may replace a published file, and how it is put there."""

from __future__ import annotations

from tests.mutation.workshop import Mutant

_PUBLISHER = ("tests/runtime/publish/test_publisher_contract.py",)
_UPLOADS = ("tests/faults/test_rows_upload.py",)
_PIPELINE = ("tests/runtime/pipeline/test_outcomes.py",)
_GUARD = ("tests/runtime/document/test_guard.py",)

MUTANTS = (
    # -- the guard
    Mutant(
        "the guard",
        "runtime/judgement.py",
        "if not isinstance(judged, Hold):",
        "if True:",
        _PIPELINE,
    ),
    Mutant(
        "the guard against an empty file",
        "runtime/document/doubts.py",
        "if not crawl.pages or not entries(new):",
        "if False:",
        _GUARD,
    ),
    Mutant(
        "the guard against a collapsed file",
        "runtime/document/doubts.py",
        "if after * 2 < expected:",
        "if False:",
        _GUARD,
    ),
    Mutant(
        "the guard against a partial crawl",
        "runtime/document/doubts.py",
        "        or _partial(previous, new, crawl)\n",
        "",
        _GUARD,
    ),
    Mutant(
        "the guard against another site's face",
        "runtime/document/doubts.py",
        "        _another_site(new, crawl)\n        or _partial",
        "        _partial",
        _GUARD,
    ),
    Mutant(
        "the guard against an invalid file",
        "runtime/document/doubts.py",
        "        if problems:\n",
        "        if False:\n",
        _GUARD,
    ),
    Mutant(
        "the later, independent crawl that confirms",
        "runtime/document/guard.py",
        "    if gap < MIN_GAP:\n        return before\n",
        "",
        _GUARD,
    ),
    Mutant(
        "the 404 discipline",
        "runtime/document/carry.py",
        "MISSES = 3\n",
        "MISSES = 1\n",
        ("tests/runtime/document/test_carry.py",),
    ),
    Mutant(
        "the page that stays while its site is in trouble",
        "runtime/document/carry.py",
        "return left.reason in TRANSIENT_LEFT or left.reason in _MISSING",
        "return left.reason in _MISSING",
        ("tests/runtime/document/test_carry.py",),
    ),
    Mutant(
        "the order that does not depend on the crawl's",
        "runtime/document/carry.py",
        "return tuple(sorted([*listed, *carried.values()], key=lambda page: page.url)), counts",
        "return tuple([*listed, *carried.values()]), counts",
        ("tests/runtime/document/test_carry.py",),
    ),
    # -- publishing
    Mutant(
        "`If-Match`",
        "runtime/publish/s3.py",
        'else {"IfMatch": expected_etag}',
        "else {}",
        _PUBLISHER,
    ),
    Mutant(
        "`If-None-Match` of a first file",
        "runtime/publish/s3.py",
        'condition = {"IfNoneMatch": "*"} if expected_etag is None',
        "condition = {} if expected_etag is None",
        _PUBLISHER,
    ),
    Mutant(
        "`If-None-Match` of a version",
        "runtime/publish/s3.py",
        '{"sha256": sha256}, IfNoneMatch="*")',
        '{"sha256": sha256})',
        _PUBLISHER,
    ),
    Mutant(
        "the condition of a write to a folder",
        "runtime/publish/folder.py",
        "if (current.etag if current else None) == expected_etag:",
        "if True:",
        _PUBLISHER,
    ),
    Mutant(
        "the rename that makes a write to a folder whole",
        "runtime/publish/files.py",
        "            new.replace(path)\n",
        "            path.write_bytes(body[: len(body) // 2])\n            path.write_bytes(body)\n",
        ("tests/runtime/publish/test_folder.py", "tests/soak/test_soak.py"),
    ),
    Mutant(
        "the version that comes before the file",
        "runtime/publishing.py",
        "    await publisher.put_version(keys.version(base_url, sha256), body, sha256=sha256)\n",
        "",
        _PIPELINE,
    ),
    Mutant(
        "a failed upload that never advances the hash",
        "runtime/recrawl.py",
        "        return result, await publish(world, claim, outgoing, public)\n",
        "        try:\n            return result, await publish(world, claim, outgoing, public)\n"
        "        except ServiceError:\n            return result, None\n",
        (*_UPLOADS, "tests/faults/test_nth_call.py"),
    ),
    Mutant(
        "the look at what readers get when nothing changed",
        "runtime/recrawl.py",
        "    if public is not None and public.is_whole(outgoing):\n",
        "    if True:\n",
        ("tests/runtime/pipeline/test_enhancement.py", *_PIPELINE, *_UPLOADS),
    ),
    Mutant(
        "the checksum setting without which R2 refuses uploads",
        "runtime/publish/s3.py",
        '        request_checksum_calculation="when_required",\n',
        "",
        (*_UPLOADS, "tests/runtime/publish/test_s3.py"),
    ),
)
