"""The safeguards, and how each is taken out. An edit has to match exactly once, so that none rots unseen."""

from __future__ import annotations

from tests.mutation import claims, doors, fetching, guards, promises

MUTANTS = (*claims.MUTANTS, *guards.MUTANTS, *fetching.MUTANTS, *doors.MUTANTS, *promises.MUTANTS)
