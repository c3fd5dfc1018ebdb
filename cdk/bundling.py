"""The Lambda asset, built on this machine: wheels for the target platform, no Docker.

The asset's hash is made of what goes in (sources, lock, Python, architecture, this recipe), so that the same inputs
give the same hash in every checkout, and a change of any of them gives another.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsii
import uv
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from cdk.config import StageConfig
from cdk.interpreter import find_python

RECIPE = "2"
"""To be changed with any change of how the asset is built."""

ROOT = Path(__file__).parent.parent
LOCK = Path("runtime/requirements.txt")
LEFT_OUT = tuple(
    f"runtime/{name}"
    for name in ("__main__.py", "cli", "doctor.py", "local.py", "report.py", "sample", "sites/migrate.py")
)
"""What only `python -m runtime` on a laptop needs; a test holds that no door imports any of it."""

PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
"""Amazon Linux 2023, which Lambda's Python 3.12 and later run on, has glibc 2.34."""

MACHINE_DEPENDENT = (
    "bin",
    ".lock",
    *(f"*.dist-info/{name}" for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")),
)
"""What an installer writes about the machine it ran on: paths, addresses, times."""


UNUSED = (
    "lxml/objectify*",
    "lxml/html",
    "lxml/isoschematron",
    "lxml/includes",
    *(f"lxml/*.{kind}" for kind in ("pxi", "pyx", "pxd", "h", "c", "cpp")),
    "cffi",
    "pycparser",
    "h2",
    "hpack",
    "hyperframe",
)
"""Parts of wheels that no door needs, a fifth of the asset: `ada_url` needs the compiled half of cffi alone, and HTTP/2
is never spoken, but where httpcore finds it, it is imported (25 ms of CPU in every new process).
"""


class BundlingError(RuntimeError):
    """The asset could not be built; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides the asset's content. `python` is "3.13", `compiler` an interpreter of that version or None."""

    root: Path
    python: str
    architecture: str
    compiler: Path | None

    def sources(self) -> Iterator[Path]:
        """The package's files, relative to the root, in a fixed order."""
        left_out = [Path(part) for part in LEFT_OUT]
        for path in sorted((self.root / "runtime").rglob("*")):
            relative = path.relative_to(self.root)
            hidden = "__pycache__" in relative.parts or path.name.startswith(".")
            documents = relative.parent == LOCK.parent and path.name.startswith("requirements")
            skipped = hidden or documents or any(relative.is_relative_to(part) for part in left_out)
            if path.is_file() and not skipped:
                yield relative

    def hash(self) -> str:
        """SHA-256 of everything that decides the content."""
        digest = hashlib.sha256()
        facts = (RECIPE, self.python, self.architecture, "pyc" if self.compiler else "py")
        for part in (*facts, (self.root / LOCK).read_bytes()):
            _add(digest, part)
        for relative in self.sources():
            _add(digest, relative.as_posix())
            _add(digest, (self.root / relative).read_bytes())
        return digest.hexdigest()

    def build(self, out: Path) -> None:
        """Write the asset into the folder `out`.

        :raises BundlingError: a wheel is missing for the platform, a hash does not match, or there is no network.
        """
        self._install(out)
        for path in {match for pattern in (*MACHINE_DEPENDENT, *UNUSED) for match in out.glob(pattern)}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for relative in self.sources():
            target = out / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / relative, target)
        if self.compiler:
            # Unchecked: /var/task is read-only and its files never change, so there is nothing to compare with.
            flags = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(out), "-p", "/var/task"]
            _run([str(self.compiler), "-m", "compileall", *flags, str(out)])

    def _install(self, out: Path) -> None:
        command = [
            uv.find_uv_bin(),
            "pip",
            "install",
            "--quiet",
            "--no-config",
            "--target",
            str(out),
            "--python",
            sys.executable,
        ]
        command += ["--python-version", self.python, "--python-platform", PLATFORMS[self.architecture]]
        command += ["--only-binary", ":all:", "--no-compile-bytecode", "--require-hashes", "--link-mode", "copy"]
        command += ["-r", str(self.root / LOCK)]
        # The lock fixes every byte, so the cache is as good as the registry, and works on a train.
        if subprocess.run([*command, "--offline"], capture_output=True, check=False).returncode:  # noqa: S603 - ours
            _run(command)


@jsii.implements(ILocalBundling)
class LocalBundling:
    """Hands the recipe to the CDK. It raises instead of returning False, which would quietly ask for Docker."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def try_bundle(self, output_dir: str, options: object = None) -> bool:
        del options
        self._recipe.build(Path(output_dir))
        return True


def runtime_code(config: StageConfig, root: Path = ROOT) -> lambda_.Code:
    """The one asset that all functions share.

    :raises BundlingError: the stage wants compiled files and there is no interpreter to compile them with.
    """
    compiler = None if config.precompile == "never" else find_python(config.python)
    if config.precompile == "always" and compiler is None:
        raise BundlingError(
            f"precompile=always needs Python {config.python} on this machine: install it (uv python install "
            f"{config.python}), or deploy with -c precompile=never for slower cold starts"
        )
    recipe = Recipe(root=root, python=config.python, architecture=config.architecture, compiler=compiler)
    local: Any = LocalBundling(recipe)  # the stub spells the options out as keywords; jsii passes one object
    return lambda_.Code.from_asset(
        str(root / "runtime"),
        asset_hash=recipe.hash(),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("scratch"), local=local),
    )


def _add(digest: hashlib._Hash, part: str | bytes) -> None:
    data = part.encode() if isinstance(part, str) else part
    digest.update(len(data).to_bytes(8, "big") + data)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - built here
    if done.returncode:
        raise BundlingError(f"the Lambda asset could not be built: {' '.join(command[:3])} said: {done.stderr.strip()}")
