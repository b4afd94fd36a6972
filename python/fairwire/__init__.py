"""DCCP experiments from Python: run scenarios and papers, and get the results as tables.

    import fairwire as fw

    results = fw.run("scenarios/dumbbell.toml", seeds=30, set={"flows.dccp.dccp.ccid": 3})
    results.df        # pandas; .pl is polars, .arrow is Arrow
    results.plot()    # needs the extra "plot"

Runs use all processors and do not hold the interpreter. Ctrl-C stops them and keeps those that are finished.

`fairwire.aio` and `fairwire.net` have DCCP sockets for asyncio and for threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwire import errors
from fairwire._fairwire import (
    ClientDtls,
    Datagram,
    FairwireError,
    InternalError,
    LawError,
    LawWindow,
    PaperError,
    RunError,
    ScenarioError,
    ServerDtls,
    StoreError,
    WorkerError,
    __version__,
)
from fairwire._law import WindowLaw, law
from fairwire._run import Interrupted, PaperResults, Scenario, paper, papers, run
from fairwire._sockets import (
    CLEAR_TEXT,
    Address,
    ClientSecurity,
    Config,
    DatagramFate,
    Dtls,
    Event,
    Fate,
    Identity,
    ServerSecurity,
    Stats,
    TargetBitrate,
)
from fairwire._sweep import Store, Sweep, Until, sweep
from fairwire.results import Results, Table

if TYPE_CHECKING:
    from types import ModuleType

    from fairwire import aio, net

__all__ = [
    "CLEAR_TEXT",
    "Address",
    "ClientDtls",
    "ClientSecurity",
    "Config",
    "Datagram",
    "DatagramFate",
    "Dtls",
    "Event",
    "FairwireError",
    "Fate",
    "Identity",
    "InternalError",
    "Interrupted",
    "LawError",
    "LawWindow",
    "PaperError",
    "PaperResults",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ServerDtls",
    "ServerSecurity",
    "Stats",
    "Store",
    "StoreError",
    "Sweep",
    "Table",
    "TargetBitrate",
    "Until",
    "WindowLaw",
    "WorkerError",
    "__version__",
    "aio",
    "errors",
    "law",
    "net",
    "paper",
    "papers",
    "run",
    "sweep",
]


def __getattr__(name: str) -> ModuleType:
    """Imports the modules of the sockets when they are used."""
    if name in ("aio", "net"):
        import importlib

        return importlib.import_module(f"fairwire.{name}")
    raise AttributeError(f"module 'fairwire' has no attribute {name!r}")
