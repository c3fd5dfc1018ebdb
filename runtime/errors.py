"""Every error the service raises on purpose.

    ServiceError
    ├── InputError          a value somebody gave us is not allowed     exit 2, HTTP 422
    ├── NotFound            no such site, run or version                exit 1, HTTP 404
    ├── Misconfigured       a setting or a grant is missing or wrong    exit 2, HTTP 500; retrying does not help
    ├── Transient           try again later                             exit 1, HTTP 503
    │   ├── FetchFailed     a site did not answer
    │   ├── StoreDown       database, bucket or queue did not answer
    │   └── BudgetSpent     the deployment's crawls of the last 24 hours are used up
    ├── Refused             the fetch gate said no; never retried
    ├── HopRefused          a redirect led where the caller does not want to go (robots.txt, another site)
    ├── StaleClaim          the lease was lost: somebody else owns the site now
    ├── PreconditionFailed  a conditional write met another object
    └── CorruptState        a stored file is not what we wrote

`code` is machine-readable and stable, `str(error)` is one sentence for a person. Neither ever holds a secret or the
text of somebody else's exception.
"""

from __future__ import annotations

from collections.abc import Sequence


class ServiceError(Exception):
    """The root of the tree; `code` names the error for machines."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InputError(ServiceError):
    """A given value is not allowed; `field` names it as the caller spelled it."""

    code = "invalid"

    def __init__(self, field: str, message: str, *, code: str | None = None) -> None:
        super().__init__(f"{field}: {message}", code=code)
        self.field = field


class NotFound(ServiceError):
    code = "not_found"


class Misconfigured(ServiceError):
    code = "misconfigured"


class Transient(ServiceError):
    code = "unavailable"


class FetchFailed(Transient):
    """No usable answer: `code` is dns_failure, connect_failed, timeout, …; `url` is the hop that failed."""

    code = "fetch_failed"

    def __init__(self, url: str, message: str, *, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.url = url


class VendorFailed(ServiceError):
    """A paid service did not do what it was asked for. `final`: the next call would get the same answer; `retry_after`:
    seconds after which another try is worth it, None when it is not.
    """

    code = "vendor_failed"

    def __init__(self, message: str, *, code: str, final: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, code=code)
        self.final, self.retry_after = final, retry_after


class StoreDown(Transient):
    code = "store_down"


class BudgetSpent(Transient):
    code = "budget_spent"


class Refused(ServiceError):
    """A URL the gate does not let out; `code` is the policy's (scheme, port, address_private, …)."""

    code = "refused"

    def __init__(self, url: str, message: str, *, code: str) -> None:
        super().__init__(message, code=code)
        self.url = url


class HopRefused(ServiceError):
    """`may_visit` answered `reason` for `url`; `hops` were asked for before it."""

    code = "hop_refused"

    def __init__(self, url: str, reason: str, hops: Sequence[str] = ()) -> None:
        super().__init__(f"{url}: {reason}")
        self.url, self.reason, self.hops = url, reason, tuple(hops)


class StaleClaim(ServiceError):
    code = "stale_claim"


class PreconditionFailed(ServiceError):
    code = "precondition_failed"


class CorruptState(ServiceError):
    code = "corrupt_state"
