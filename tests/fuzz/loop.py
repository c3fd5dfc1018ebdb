"""The loop: take an input, change it, read it; keep it if it reached something new, report it if it broke an oracle."""

from __future__ import annotations

import hashlib
import random
import resource
import time
import traceback
from dataclasses import dataclass, field
from typing import Final

from tests.fuzz.coverage import Coverage
from tests.fuzz.mutate import MAX_BYTES, Mutator
from tests.fuzz.shrink import shrink
from tests.fuzz.target import Target

SECONDS_A_BYTE: Final = 50e-6
"""CPU time that a longer input may take more."""

GROWTH_MB: Final = 100
"""How far one input of a few kilobytes may raise the peak of the process."""

SHRINK_READINGS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that broke something. `kind` is equal for inputs that broke the same thing."""

    target: str
    kind: str
    data: bytes
    trace: str


@dataclass(slots=True)
class Fuzzer:
    """One target under way. With one seed the inputs are the same in every run."""

    target: Target
    seed: int
    coverage: Coverage
    clock: bool = True
    """Whether time and memory are judged too."""

    inputs: int = 0
    seconds: float = 0.0
    corpus: list[bytes] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    blocks: int = 0
    _features: set[str] = field(default_factory=set)
    _chance: random.Random = field(init=False)
    _mutator: Mutator = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"{self.seed} {self.target.name}")
        self._mutator = Mutator(self._chance, self.target.tokens)

    def begin(self) -> None:
        """Read the seeds, so that only what they do not reach counts as new."""
        for data in dict.fromkeys(self.target.seeds()):
            self._try(data)

    def run(self, inputs: int) -> None:
        """Read so many new inputs."""
        started = time.perf_counter()
        for _ in range(inputs):
            size = len(self.corpus)
            # The newest inputs reached what no other did: they are looked at more often.
            place = size - 1 - int(size * self._chance.random() ** 2) if size else 0
            data = self.corpus[place] if size else b""
            other = self.corpus[self._chance.randrange(size)] if size else b""
            self._try(self._mutator.mutate(data[:MAX_BYTES], other))
        self.seconds += time.perf_counter() - started

    def digest(self) -> str:
        """What the target answers to the whole corpus, in one number."""
        return digest(self.target, self.corpus)

    def _try(self, data: bytes) -> None:
        self.inputs += 1
        finding = self._judge(data)
        reached, features = self.coverage.take(), set(self._seen)
        if finding is not None:
            if finding.kind not in self.findings:
                self.findings[finding.kind] = self._shrunk(finding)
                self.coverage.take()
        elif reached & ~self.blocks or features - self._features:
            self.blocks |= reached
            self._features |= features
            self.corpus.append(data)

    _seen: tuple[str, ...] = ()

    def _judge(self, data: bytes) -> Finding | None:
        """What is wrong with the reading of an input, or None."""
        self._seen = ()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        try:
            answer = self.target.read(data)
            self._seen = tuple(self.target.features(answer))
        except Exception as error:  # noqa: BLE001 - whatever escapes is the finding
            return Finding(self.target.name, _kind(error), data, "".join(traceback.format_exception(error)))
        if not self.clock:
            return None
        seconds = time.process_time() - started
        if seconds > self.target.seconds + SECONDS_A_BYTE * len(data):
            return Finding(self.target.name, "slow", data, f"{seconds:.2f} seconds for {len(data)} bytes")
        growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1_024
        if growth > GROWTH_MB:
            return Finding(self.target.name, "large", data, f"{growth:.0f} MB for {len(data)} bytes")
        return None

    def _shrunk(self, finding: Finding) -> Finding:
        best = finding

        def is_same(data: bytes) -> bool:
            nonlocal best
            again = self._judge(data)
            if again is None or again.kind != finding.kind:
                return False
            best = again
            return True

        if finding.kind != "large":  # the peak of a process never falls
            shrink(finding.data, is_same, SHRINK_READINGS if finding.kind != "slow" else 100)
        return best


def digest(target: Target, corpus: list[bytes]) -> str:
    """A number that is the same in every process, whatever its hash seed."""
    whole = hashlib.sha256()
    for data in corpus:
        whole.update(repr(target.read(data)).encode("utf-8", "backslashreplace"))
    return whole.hexdigest()


def _kind(error: BaseException) -> str:
    """The type and the place of the innermost frame; for an oracle its words up to the first colon."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, AssertionError) and str(error):
        return f"oracle: {str(error).partition(':')[0]}"
    place = frames[-1]
    return f"{type(error).__name__} in {place.name} ({place.filename.rpartition('/')[2]}:{place.lineno})"
