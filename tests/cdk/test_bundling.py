"""The asset: reproducible, built for another platform, without Docker, and only what the functions need."""

from __future__ import annotations

import ast
import base64
import hashlib
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from cdk.bundling import BundlingError, Recipe, runtime_code
from cdk.config import load_stage
from cdk.interpreter import find_python
from tests.cdk.conftest import STAGES, Synth, properties

ROOT = Path(__file__).parents[2]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PINNED = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,]+\])?==([^\s\\;]+)", re.MULTILINE)


def make_wheel(folder: Path, name: str = "tiny", tag: str = "py3-none-any") -> str:
    """A wheel with a module, a data file and a command, as a line for a lock."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "VALUE = 1\n",
        f"{name}/table.json": "{}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text)}"
        for path, text in files.items()
    ]
    wheel = folder / f"{name}-1.0-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,\n"]))
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def make_root(folder: Path, *lock: str, wheels: Path) -> Path:
    """A small checkout: a package, what must stay out of the asset, and a lock that needs no network."""
    files = {
        "runtime/__init__.py": "",
        "runtime/handlers/cron.py": "def handler(event, context):\n    return event\n",
        "runtime/sites/schema.sql": "select 1;\n",
        "runtime/cli/__init__.py": "import rich\n",
        "runtime/local.py": "import uvicorn\n",
        "runtime/requirements-local.txt": "rich\n",
        "runtime/requirements.txt": f"--no-index\n--find-links {wheels}\n{''.join(lock)}",
        "runtime/__pycache__/x.cpython-311.pyc": "stale",
        "runtime/.DS_Store": "x",
        "tests/test_x.py": "",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    root = make_root(tmp_path / "checkout", make_wheel(wheels), wheels=wheels)
    return Recipe(root=root, python="3.13", architecture="arm64", compiler=None)


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder with the hash of its content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def build(recipe: Recipe, out: Path) -> dict[str, str]:
    out.mkdir()
    recipe.build(out)
    return tree(out)


def test_two_checkouts_give_the_same_bytes_and_the_same_hash(recipe: Recipe, tmp_path: Path) -> None:
    """A colleague's deploy of the same commit changes nothing in the account."""
    other = replace(recipe, root=tmp_path / "elsewhere" / "deeper")
    shutil.copytree(recipe.root, other.root)
    for path in other.root.rglob("*.py"):
        path.touch()
    assert other.hash() == recipe.hash()
    assert build(other, tmp_path / "b") == build(recipe, tmp_path / "a") != {}


def test_the_asset_holds_the_package_and_its_wheels_and_nothing_of_the_machine(recipe: Recipe, tmp_path: Path) -> None:
    """Local-only code, caches, commands and installer records stay out; data files go in."""
    assert set(build(recipe, tmp_path / "out")) == {
        "runtime/__init__.py",
        "runtime/handlers/cron.py",
        "runtime/sites/schema.sql",
        "tiny/__init__.py",
        "tiny/table.json",
        "tiny-1.0.dist-info/METADATA",
        "tiny-1.0.dist-info/WHEEL",
        "tiny-1.0.dist-info/entry_points.txt",
    }


def test_whatever_changes_the_asset_changes_its_hash(recipe: Recipe) -> None:
    """A stale asset would be deployed without a word, so each input counts: code, data, lock, platform, Python."""
    seen = {recipe.hash()}
    for changed in (
        replace(recipe, architecture="x86_64"),
        replace(recipe, python="3.12"),
        replace(recipe, compiler=Path(sys.executable)),
    ):
        seen.add(changed.hash())
    for name, text in {
        "runtime/handlers/cron.py": "def handler(event, context):\n    return None\n",
        "runtime/sites/schema.sql": "select 2;\n",
        "runtime/requirements.txt": "tiny==1.1\n",
        "runtime/sites/more.json": "{}",
    }.items():
        (recipe.root / name).write_text(text)
        seen.add(recipe.hash())
    (recipe.root / "runtime/sites/more.json").rename(recipe.root / "runtime/sites/less.json")
    seen.add(recipe.hash())
    assert len(seen) == 9


def test_what_stays_out_of_the_asset_does_not_change_its_hash(recipe: Recipe) -> None:
    """A change of the command line or of a test does not redeploy three functions."""
    before = recipe.hash()
    for name in (
        "runtime/cli/__init__.py",
        "runtime/local.py",
        "tests/test_x.py",
        "runtime/__pycache__/x.cpython-311.pyc",
    ):
        (recipe.root / name).write_text("changed = True\n")
    (recipe.root / "runtime/__init__.py").touch()
    assert recipe.hash() == before


def test_a_dependency_without_a_wheel_for_the_platform_fails_the_build(tmp_path: Path) -> None:
    """Better at synth than at the first import in Lambda."""
    line = make_wheel(tmp_path, "native", "cp313-cp313-manylinux_2_17_aarch64")
    root = make_root(tmp_path / "checkout", line, wheels=tmp_path)
    arm = Recipe(root=root, python="3.13", architecture="arm64", compiler=None)
    assert "native/__init__.py" in build(arm, tmp_path / "arm")
    with pytest.raises(BundlingError, match=r"(?s)could not be built: .*native"):
        build(replace(arm, architecture="x86_64"), tmp_path / "x86")


def test_a_wheel_that_is_not_the_locked_one_fails_the_build(recipe: Recipe, tmp_path: Path) -> None:
    """The lock is a promise about bytes, not about names."""
    lock = recipe.root / "runtime/requirements.txt"
    lock.write_text(re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, lock.read_text()))
    with pytest.raises(BundlingError, match=r"[Hh]ash mismatch"):
        build(recipe, tmp_path / "out")


def test_compiled_files_are_reproducible_and_name_the_place_they_run_in(recipe: Recipe, tmp_path: Path) -> None:
    """Unchecked .pyc files: no look at the source's time, and tracebacks that say /var/task."""
    compiled = replace(recipe, python=HERE, compiler=find_python(HERE))
    one = build(compiled, tmp_path / "one")
    assert one == build(compiled, tmp_path / "two")
    tag = sys.implementation.cache_tag
    cached = f"runtime/handlers/__pycache__/cron.{tag}.pyc"
    assert cached in one
    data = (tmp_path / "one" / cached).read_bytes()
    assert data[4:8] == b"\x01\x00\x00\x00"
    assert b"/var/task/runtime/handlers/cron.py" in data


def test_an_interpreter_is_taken_only_if_it_is_the_version_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shim that does not start, or starts another Python, is no interpreter."""
    for name, body in {"python3.98": "exit 127", "python3.97": f'exec "{sys.executable}" "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_python("3.98") is None
    assert find_python("3.97") is None
    assert find_python(HERE) == Path(sys.executable)


def test_compiling_can_be_demanded_and_the_refusal_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = replace(load_stage({"precompile": "always"}), python="3.99")
    with pytest.raises(BundlingError, match=r"needs Python 3\.99 on this machine: install it .* -c precompile=never"):
        runtime_code(config)


@pytest.mark.parametrize("stage", STAGES)
def test_all_functions_share_one_asset(synth: Synth, stage: str) -> None:
    """One build, one upload, one thing to roll back."""
    functions = properties(synth(stage), "AWS::Lambda::Function")
    assert len({str(function["Code"]) for function in functions}) == 1
    assert {function["Handler"] for function in functions} == {
        f"runtime.handlers.{name}.handler" for name in ("cron", "webhook", "worker")
    }


def test_the_lock_pins_and_hashes_all_that_is_asked_for() -> None:
    """The lock is made from requirements.in, and the versions are those that the tests run with."""
    locked = dict(PINNED.findall((ROOT / "runtime/requirements.txt").read_text()))
    wanted = dict(PINNED.findall((ROOT / "runtime/requirements.in").read_text()))
    local = dict(PINNED.findall((ROOT / "runtime/requirements-local.txt").read_text()))
    assert wanted.items() <= locked.items()
    assert {name: version for name, version in local.items() if name in locked}.items() <= locked.items()
    deployer = dict(PINNED.findall((ROOT / "requirements.txt").read_text()))
    assert locked["postgrest"] == deployer["supabase"]
    entries = re.split(r"\n(?=[a-z0-9-]+==)", (ROOT / "runtime/requirements.txt").read_text().strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert len(entries) == len(locked)


def imports_of(door: str) -> tuple[set[str], set[str]]:
    """(modules of the package, top-level names of other packages) that a door reaches, lazy imports included."""
    ours: set[str] = set()
    others: set[str] = set()
    todo = [door]
    while todo:
        name = todo.pop()
        path = ROOT / Path(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in ours or not path.exists():
            continue
        ours.add(name)
        for node in ast.walk(ast.parse(path.read_text())):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                found = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            todo += [each for each in found if each.startswith("runtime")]
            others |= {each.split(".")[0] for each in found if not each.startswith("runtime")}
    return ours, others - set(sys.stdlib_module_names)


@pytest.mark.parametrize("door", ["cron", "webhook", "worker", "live", "live_worker"])
def test_everything_that_a_door_imports_is_in_the_asset(door: str) -> None:
    """Our own modules, and other people's: from the lock, or boto3, which Lambda brings along."""
    ours, others = imports_of(f"runtime.handlers.{door}")
    packed = {path.with_suffix("").as_posix().replace("/", ".") for path in Recipe(
        root=ROOT, python="3.13", architecture="arm64", compiler=None
    ).sources()}  # fmt: skip
    assert {name for name in ours if name not in packed and f"{name}.__init__" not in packed} == set()
    locked = {name.replace("-", "_") for name, _ in PINNED.findall((ROOT / "runtime/requirements.txt").read_text())}
    types_only = {name for name in others if name.startswith("mypy_boto3")}
    assert others - types_only - {"boto3", "botocore"} <= locked


def test_the_lock_leaves_out_what_lambda_has_and_what_only_a_laptop_needs() -> None:
    """boto3 comes with the Lambda runtime; a progress bar and a web server stay at home."""
    locked = dict(PINNED.findall((ROOT / "runtime/requirements.txt").read_text()))
    assert not {"boto3", "botocore", "rich", "uvicorn", "click", "platformdirs"} & set(locked)
