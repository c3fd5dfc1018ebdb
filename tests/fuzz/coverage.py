"""Which blocks of the readers an input reached, cheaply: a byte a block, set by code that is put in on import.

`sys.settrace` makes Python ten times slower; one subscript store a block does not. The blocks are the bodies of
functions, branches, loops and handlers. Nothing is written to `__pycache__`.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Final

WATCHED: Final = (
    "runtime.sitemap",
    "runtime.crawl",
    "runtime.document",
    "runtime.urls",
    "runtime.url_syntax",
    "runtime.web.decode",
)
_NAME: Final = "__blocks__"


class Coverage:
    """The blocks of all watched modules that were imported since `install`."""

    def __init__(self) -> None:
        self._hits = bytearray()
        self.total = 0

    def install(self) -> None:
        """Watch modules from now on.

        :raises RuntimeError: a watched module was imported already, without its blocks.
        """
        early = sorted(name for name, module in sys.modules.items() if _is_watched(name) and module.__file__)
        if early:
            raise RuntimeError(f"imported before the coverage was installed: {', '.join(early)}")
        sys.meta_path.insert(0, _Finder(self))

    def take(self) -> int:
        """The blocks reached since the last call, as the bits of a number."""
        reached = int.from_bytes(self._hits, "little")
        self._hits[:] = bytes(len(self._hits))
        return reached

    def instrument(self, source: bytes, path: str) -> types.CodeType:
        tree = _Blocks(self).visit(ast.parse(source, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def block(self) -> ast.stmt:
        """A statement that says: here I was."""
        number = self.total
        self.total += 1
        self._hits.append(0)
        return ast.parse(f"{_NAME}[{number}] = 1").body[0]

    def put_into(self, module: types.ModuleType) -> None:
        setattr(module, _NAME, self._hits)


class _Blocks(ast.NodeTransformer):
    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.Module | ast.ClassDef):
            return node
        documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None
        for name, place in (("body", int(documented)), ("orelse", 0), ("finalbody", 0)):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                body.insert(place, self._coverage.block())
        return node


class _Loader(SourceFileLoader):
    coverage: Coverage

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.coverage.instrument(self.get_data(path), path)

    def exec_module(self, module: types.ModuleType) -> None:
        self.coverage.put_into(module)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_watched(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader = _Loader(spec.loader.name, spec.loader.path)
            loader.coverage = self._coverage
            spec.loader = loader
        return spec


def _is_watched(name: str) -> bool:
    return any(name == watched or name.startswith(f"{watched}.") for watched in WATCHED)
