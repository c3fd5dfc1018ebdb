"""The part of `SupabaseSites` that counts for the whole deployment; see `supabase/migrations/*_allowances.sql`."""

from __future__ import annotations

from runtime.sites.rpc import Rpc


class SupabaseAllowances:
    """Pages of the unlocker in a month, and live crawls of a caller at once, counted in the database."""

    _rpc: Rpc

    async def take_unlock(self, *, limit: int) -> bool:
        # After a lost answer it is not asked again: the page may be counted, and is then not asked for.
        return bool(await self._rpc.call("take_unlock", {"p_limit": limit}, kinds=bool, repeatable=False))

    async def unlocks_taken(self) -> int:
        return int(await self._rpc.call("unlocks_taken", {}, kinds=int, repeatable=True))

    async def open_live(self, connection: str, caller: str) -> None:
        call = {"p_connection": connection, "p_caller": caller}
        await self._rpc.call("open_live", call, kinds=bool, repeatable=True)

    async def begin_live(self, connection: str, *, at_once: int, lease_seconds: int) -> bool:
        call = {"p_connection": connection, "p_at_once": at_once, "p_lease_seconds": lease_seconds}
        return bool(await self._rpc.call("begin_live", call, kinds=bool, repeatable=True))

    async def end_live(self, connection: str) -> None:
        await self._rpc.call("end_live", {"p_connection": connection}, kinds=bool, repeatable=True)
