"""Crawlers and readers to compare with, each a script for the environment of its own library.

A crawler is given the origin and the number of pages and prints one JSON object: pages, seconds and CPU seconds from
the first request to the last answer, and the fingerprint of what it found (see `benchmarks.site.fingerprint`).
"""
