"""What holds for every test: no example of a property test is judged by how long a shared machine took for it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
