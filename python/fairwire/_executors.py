"""What does the tasks of a sweep: executors, dask and Ray."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union

from fairwire._fairwire import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    class Client(Protocol):
        """A dask.distributed.Client, or what has its methods."""

        def get_executor(self, *, pure: bool) -> concurrent.futures.Executor: ...

        def nthreads(self, *, callback_timeout: float) -> Mapping[str, int]: ...

    Engine = Union[concurrent.futures.Executor, Client, Literal["ray"]]
    from fairwire._law import Laws

    Work = Callable[[bytes, Laws], bytes]
    Submit = Callable[[bytes], concurrent.futures.Future[bytes]]
    Count = Callable[[], int]

# How long the scheduler of a cluster may take to answer, in seconds.
_PATIENCE_S = 30.0


def adapt(engine: Engine, work: Work, laws: Laws) -> tuple[Submit, Count]:
    """Returns a function that has an engine do `work` with a task and laws, and one that counts the workers.

    The second one raises WorkerError if the scheduler of a cluster does not answer.
    """
    if isinstance(engine, concurrent.futures.Executor):
        executor = engine
        known = getattr(executor, "_max_workers", None)
        count = known if isinstance(known, int) else os.cpu_count() or 1
        return lambda task: executor.submit(work, task, laws), lambda: count
    if engine == "ray":
        ray = _ray()
        remote = ray.remote(_portable())
        return lambda task: remote.remote(task, laws).future(), lambda: int(ray.cluster_resources().get("CPU", 0))
    if isinstance(engine, str) or not hasattr(engine, "get_executor"):
        wanted = 'an executor of concurrent.futures, a dask.distributed.Client or "ray"'
        wrong = ValueError if isinstance(engine, str) else TypeError
        raise wrong(f"executor is {wanted}, and not {engine!r}")
    client, portable = engine, _portable()
    # By default dask answers a task that it knows with what came of it before, which may be the loss of its workers.
    dask = client.get_executor(pure=False)
    return lambda task: dask.submit(portable, task, laws), lambda: _threads(client)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(f'executor="ray" needs the package ray, which cannot be imported ({error}): pip install ray') from error


def _portable() -> Work:
    """Returns the work as a function that is sent with its code, because it is not of a module.

    A dask worker that cannot import a function ends without an answer. If its code cannot import something, it answers
    with that error.
    """

    def work(task: bytes, laws: Laws) -> bytes:
        from fairwire._sweep import work

        return work(task, laws)

    return work


def _threads(client: Client) -> int:
    try:
        return sum(client.nthreads(callback_timeout=_PATIENCE_S).values())
    except Exception as error:  # Of many classes: a closed client, a lost connection, a timeout.
        raise WorkerError(
            f"the scheduler does not answer ({type(error).__name__}: {error}); finished runs are in the store: start "
            "the sweep again with a new client"
        ) from error
