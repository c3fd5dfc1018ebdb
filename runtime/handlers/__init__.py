"""The Lambda doors: an event becomes one call, its result a response. Events are never logged."""
