"""When to look again: `decide` turns what is known of a site into the time of the next look, and says why."""

from runtime.scheduling.decide import decide, spread_of
from runtime.scheduling.history import History, ScheduleSettings

__all__ = ["History", "ScheduleSettings", "decide", "spread_of"]
