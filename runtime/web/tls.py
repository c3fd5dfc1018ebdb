"""One TLS context a process."""

from __future__ import annotations

import ssl
from functools import lru_cache


@lru_cache(maxsize=1)
def shared_tls() -> ssl.SSLContext:
    """One TLS context a process: building one from a trust store costs 20 to 40 ms of CPU.

    The system's trust store; where a Python has none (some portable builds), certifi's.
    """
    paths = ssl.get_default_verify_paths()
    context = ssl.create_default_context()
    if paths.cafile is None and paths.capath is None and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
