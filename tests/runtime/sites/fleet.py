"""Worker processes that are watched, and killed, by what they say."""

from __future__ import annotations

import os
import random
import selectors
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

SILENCE_SECONDS = 30


@dataclass
class Fleet:
    """`size` workers, each replaced when it is killed. `heard` counts what they said."""

    arguments: tuple[str, ...]
    size: int = 8
    kill_chance: float = 0.2
    heard: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    _workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _unfinished: defaultdict[int, bytes] = field(default_factory=lambda: defaultdict(bytes))
    _in_hand: Counter[int] = field(default_factory=Counter)
    _number: int = 0

    def _start(self) -> None:
        self._number += 1
        url, key, *rest = self.arguments
        command = [sys.executable, "-m", "tests.runtime.sites.worker", url, key, f"worker-{self._number}", *rest]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)
        assert worker.stdout is not None
        self._workers[worker.pid] = worker
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        assert worker.stdout is not None
        worker.kill()
        worker.wait()
        self._tally(worker, worker.stdout.read())
        self._selector.unregister(worker.stdout)
        worker.stdout.close()
        del self._workers[worker.pid], self._in_hand[worker.pid]

    def run(self, finished: Callable[[], bool], *, kills: int, seed: int = 1) -> None:
        """Work until `finished` and nobody has anything in hand.

        Meanwhile `kills` workers get SIGKILL, each just after it claimed.
        """
        chance = random.Random(seed)
        quiet = 0.0
        for _ in range(self.size):
            self._start()
        try:
            while self._in_hand.total() or not finished():
                heard = self._selector.select(timeout=0.1)
                quiet = 0.0 if heard else quiet + 0.1
                assert quiet < SILENCE_SECONDS, f"the workers fell silent after {self.heard}"
                for key, _ in heard:
                    if key.data.pid in self._workers:
                        self._hear(key.data, chance, kills)
        finally:
            for worker in list(self._workers.values()):
                self._end(worker)
            self._selector.close()

    def _hear(self, worker: subprocess.Popen[bytes], chance: random.Random, kills: int) -> None:
        assert worker.stdout is not None
        said = os.read(worker.stdout.fileno(), 65536)
        assert said, f"a worker ended by itself with {worker.wait()}"
        last = self._tally(worker, said)
        if last == "claimed" and self.kills < kills and chance.random() < self.kill_chance:
            self.kills += 1
            self._end(worker)
            self._start()

    def _tally(self, worker: subprocess.Popen[bytes], said: bytes) -> str:
        """Count what was said; gives the last word."""
        *lines, self._unfinished[worker.pid] = (self._unfinished[worker.pid] + said).split(b"\n")
        word = ""
        for line in lines:
            word, _, number = line.decode().partition(" ")
            self.heard[word] += int(number or 1)
            self._in_hand[worker.pid] += {"claimed": int(number or 0), "committed": -1, "stale": -1}.get(word, 0)
        return word
