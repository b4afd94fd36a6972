"""Fingerprints of classes: equal for classes that compute the same with the same values."""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import sys
import sysconfig
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


# Functions and modules that can use anything.
_ANYTHING = ("eval", "exec", "getattr", "globals", "locals", "open", "vars", "__import__")
_ANY_MODULE = ("importlib", "runpy", "pkgutil")

# Attributes that can be anything.
_ANY_ATTRIBUTE = ("__dict__", "__globals__", "__getattribute__", "modules", "import_module")

# Texts and numbers that Python itself writes into a class.
_WRITTEN = ("__module__", "__qualname__", "__doc__", "__firstlineno__")


class Unknown(Exception):
    """A class uses something that cannot be compared. The text says what."""


def fingerprint(class_: type[Any]) -> str:
    """Returns a hash of what a class computes with.

    It is of the compiled code, which is what runs: the source may have changed since. So classes of different versions
    of Python differ. Comments and the places of lines do not count, and of installed packages only the names of what is
    used.
    """
    hasher = _Hasher()
    hasher.add_class(class_)
    return hasher.hash.hexdigest()[:16]


class _Hasher:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        # What was added already, since functions and classes may name each other.
        self.seen: dict[Hashable, int] = {}

    def word(self, text: str) -> None:
        content = text.encode("utf-8", "surrogatepass")
        self.hash.update(len(content).to_bytes(8, "little") + content)

    def is_new(self, value: Hashable) -> bool:
        is_new = value not in self.seen
        number = self.seen.setdefault(value, len(self.seen))
        self.word(f"#{number}")
        return is_new

    def add(self, name: str, value: object, names: Sequence[str] = ()) -> None:
        """Adds a value that is called `name`. `names` are those of the code that uses it."""
        if value is None or value is ... or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.word(f"{type(value).__name__} {value!r}")
        elif isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            self.word(f"{type(value).__name__} {len(value)}")
            for item in value:
                self.add(name, item)
        elif isinstance(value, (set, frozenset)) and all(isinstance(item, (int, float, str, bytes)) for item in value):
            # Their order differs from process to process.
            self.add(name, sorted(map(repr, value)))
        elif isinstance(value, dict) and type(value) is dict:
            self.word(f"dict {len(value)}")
            for key, item in value.items():
                self.add(name, key)
                self.add(name, item)
        elif isinstance(value, types.ModuleType):
            self.add_module(name, value, names)
        elif isinstance(value, types.FunctionType):
            if _is_of_library(value.__module__):
                self.word(f"function {value.__module__}.{value.__qualname__}")
            else:
                self.add_function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            self.word(type(value).__name__)
            self.add(name, value.__func__)
        elif isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                self.add(name, part)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            self.word(f"built-in {value.__qualname__}")
            owner = getattr(value, "__self__", None)
            if not isinstance(owner, (types.ModuleType, type)):
                self.add(name, owner)
        elif isinstance(value, type):
            self.add_class(value)
        elif isinstance(value, types.CodeType):
            self.add_code(value)
        elif callable(value) and _is_of_library(getattr(value, "__module__", None)) and hasattr(value, "__name__"):
            self.word(f"{value.__module__}.{value.__name__}")
        else:
            raise Unknown(f"{name} ({type(value).__module__}.{type(value).__qualname__})")

    def add_class(self, class_: type[Any]) -> None:
        for part in class_.__mro__:
            # Bit 9 is set unless it is built in or of an extension.
            if not part.__flags__ & (1 << 9) or _is_of_library(part.__module__):
                self.word(f"class {part.__module__}.{part.__qualname__}")
                continue
            if not self.is_new(id(part)):
                continue
            for name, value in sorted(vars(part).items()):
                is_function = isinstance(value, (types.FunctionType, staticmethod, classmethod, property))
                is_special = name.startswith("__") and name.endswith("__") or name == "_abc_impl"
                is_plain = isinstance(value, (bool, int, float, str, bytes)) and name not in _WRITTEN
                if is_function or is_plain or not is_special:
                    self.word(name)
                    if not isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType)):
                        self.add(name, value)

    def add_module(self, name: str, module: types.ModuleType, names: Sequence[str]) -> None:
        """Adds what code that has these names uses of a module. Without names it can be anything."""
        self.word(f"module {module.__name__}")
        if module.__name__.partition(".")[0] in _ANY_MODULE:
            raise Unknown(f"the module {module.__name__}")
        if _is_of_library(module.__name__):
            return
        if not names:
            raise Unknown(f"{name}, a module as a value")
        if not self.is_new((module.__name__, tuple(names))):
            return
        for name in names:
            if name in vars(module):
                self.word(name)
                self.add(f"{module.__name__}.{name}", vars(module)[name], names)

    def add_function(self, function: types.FunctionType) -> None:
        if not self.is_new(id(function)):
            return
        names = sorted(_names(function.__code__))
        for name in _ANY_ATTRIBUTE:
            if name in names:
                raise Unknown(f"{name} within {function.__name__}()")
        values = _values(function.__code__)
        self.add(function.__name__, function.__defaults__)
        self.add(function.__name__, function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            # A method that calls super() has its class in a cell.
            self.word(name)
            try:
                self.add(name, cell.cell_contents, () if name in values else names)
            except ValueError:
                self.word("empty")
        for name in sorted(_globals(function.__code__)):
            if name in function.__globals__:
                self.word(name)
                self.add(name, function.__globals__[name], () if name in values else names)
            elif name in _ANYTHING:
                raise Unknown(f"{name}()")
            else:
                self.word(f"{name} {hasattr(builtins, name)}")
        for name in sorted(_imports(function.__code__)):
            # What it will be is known only when the code runs.
            if not _is_of_library(name):
                raise Unknown(f"import {name or '.'} within {function.__name__}()")
        self.add_code(function.__code__)

    def add_code(self, code: types.CodeType) -> None:
        self.hash.update(code.co_code)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.add(code.co_name, names)
        self.add(code.co_name, (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
        self.add(code.co_name, code.co_consts)


def _is_of_library(module: str | None) -> bool:
    """Returns whether a module is of Python, of this package or of an installed one: its name stands for it."""
    package = (module or "").partition(".")[0]
    if package in ("", "__main__", "builtins"):
        return False  # Code without a module of its own says "builtins", too.
    if package == "fairwire" or package in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(package), "__file__", None) or _file_of(package)
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return file is not None and any(file.startswith(place) for place in places if place)


def _file_of(package: str) -> str | None:
    """Returns the file of a module that may not have been imported yet."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec else None


def _names(code: types.CodeType) -> set[str]:
    """Returns the names of globals and attributes in code."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names(const)
    return names


def _values(code: types.CodeType) -> set[str]:
    """Returns the names from outside of its function that code uses as values, and not for an attribute."""
    import dis

    loads = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
    steps = list(dis.get_instructions(code))
    pairs = zip(steps, [*steps[1:], None])
    attributes = ("LOAD_ATTR", "LOAD_METHOD")
    names = {one.argval for one, then in pairs if one.opname in loads and (not then or then.opname not in attributes)}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _values(const)
    return names


def _imports(code: types.CodeType) -> set[str]:
    """Returns the names of the modules that code imports when it runs."""
    import dis

    names = {step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _imports(const)
    return names


def _globals(code: types.CodeType) -> set[str]:
    """Returns the names that code looks up outside of its function."""
    import dis

    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    names = {step.argval for step in dis.get_instructions(code) if step.opname in loads}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals(const)
    return names
