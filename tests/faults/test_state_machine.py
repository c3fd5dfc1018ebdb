"""The service under sites that change and break, webhooks, operators, faults, kills and jumps of the clock, in any order.

    python -m tests.faults.test_state_machine MINUTES

looks with other random numbers each time; `make test` has the same few hundred steps every time.
"""

from __future__ import annotations

import sys
import time

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.machine import ServiceMachine

BOUNDED = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_the_promises_hold_whatever_happens_in_any_order() -> None:
    """I1 to I11 after every step; when the faults are over, every file is what its site says."""
    run_state_machine_as_test(ServiceMachine, settings=BOUNDED)


def explore(minutes: float) -> int:
    """Look for orders that break a promise, with other random numbers each time; gives how many steps were taken.

    What fails is printed as it was found: shrinking takes minutes, which are better spent on more orders.

    :raises AssertionError: a promise was broken.
    """
    end = time.monotonic() + 60 * minutes
    looser = settings(
        BOUNDED, max_examples=20, stateful_step_count=40, derandomize=False, database=None, phases=[Phase.generate]
    )
    steps = 0
    while time.monotonic() < end:
        run_state_machine_as_test(ServiceMachine, settings=looser)
        steps += looser.max_examples * looser.stateful_step_count
        print(f"{steps} steps", flush=True)
    return steps


if __name__ == "__main__":
    explore(float(sys.argv[1]))
