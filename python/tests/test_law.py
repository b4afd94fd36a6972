"""Window laws in Python."""

import abc
import concurrent.futures
import importlib
import math
import multiprocessing
import statistics
import sys
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest
from fairwire import errors, net
from fairwire._fingerprint import Unknown, fingerprint

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


@fw.law("py-reno")
class Reno:
    """RFC 5681: one packet more in a round trip, half after congestion."""

    def increase(self, window: fw.LawWindow, acked: float) -> float:
        return acked / window.cwnd

    def cut(self, window: fw.LawWindow, signal: str) -> float:
        assert signal in ("loss", "mark")
        return window.cwnd / 2


@fw.law("py-seeing")
class Seeing(Reno):
    """Looks at all that a law may see."""

    calls: dict[str, int] = {}

    def count(self, name: str, window: fw.LawWindow | None = None) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1
        if window is not None:
            assert window.now >= 0 and window.cwnd >= 1 and window.ssthresh > 0 and window.acked >= 0
            assert window.rtt is None or 0.04 < window.rtt < 1
            assert window.min_rtt is None or window.srtt is None or window.min_rtt <= window.srtt
            assert window.round_marked <= window.round_delivered

    def observe(self, window: fw.LawWindow) -> tuple[float, float] | None:
        self.count("observe", window)
        return (0.9 * window.cwnd, 20.0) if window.cwnd > 40 else None

    def threshold(self, left: float) -> float:
        self.count("threshold")
        return left

    def slow_start(self, window: fw.LawWindow, growth: float) -> float:
        self.count("slow_start", window)
        return growth / 2

    def after_timeout(self, window: fw.LawWindow) -> float:
        self.count("after_timeout", window)
        return window.cwnd / 2

    def initial_ssthresh(self) -> float | None:
        self.count("initial_ssthresh")
        return 30.0


def run(law: str, **more: Any) -> fw.Results:
    changes: dict[str, Any] = {"flows.dccp.dccp.ccid2.law": law, "flows.tcp.enabled": False}
    return fw.run(DUMBBELL, seeds=2, duration="5s", set=changes, **more)


def test_a_law_in_python_computes_what_the_one_in_rust_does() -> None:
    """NewReno in Python puts the same packets on the wires."""
    assert run("py-reno").runs.column("digest") == run("newreno").runs.column("digest")


def test_every_method_is_called_if_it_is_there() -> None:
    results = run("py-seeing", axes={"topology.bottleneck.queue": ["5 packets"]})
    assert {"observe", "threshold", "slow_start", "initial_ssthresh"} <= set(Seeing.calls)
    assert max(results.series("cwnd", "dccp").column("value")) <= 60


def test_a_law_that_fails_ends_the_run() -> None:
    """An exception, a value that is no size and a constructor that fails are told, with the method and the law."""
    cases: list[tuple[Any, str]] = [
        (lambda window: 1 / 0, "failed in increase: ZeroDivisionError: division by zero"),
        (lambda window: float("nan"), "failed in increase: it returned NaN, and a size in packets is a number from 0"),
        (lambda window: -1, "failed in increase: it returned -1, and a size"),
        (lambda window: "wide", "failed in increase: it returned 'wide', and a size"),
        (lambda window: None, "failed in increase: it returned None, and a size"),
    ]
    for number, (value, text) in enumerate(cases):

        @fw.law("py-failing")
        class Failing(Reno):
            def increase(self, window: fw.LawWindow, acked: float, value: Any = value) -> Any:
                return value(window)

        with pytest.raises(fw.LawError, match=f"the law 'py-failing' {text}") as caught:
            run("py-failing")
        assert caught.value.__cause__ is not None, number

    @fw.law("py-failing")
    class Wide(Reno):
        def observe(self, window: fw.LawWindow) -> Any:
            return 5.0

    with pytest.raises(fw.LawError, match=r"failed in observe: it returned 5.0, and not None or \(cwnd, ssthresh\)"):
        run("py-failing")

    @fw.law("py-unmade")
    class Unmade(Reno):
        def __init__(self) -> None:
            raise RuntimeError("not today")

    with pytest.raises(fw.LawError, match="failed in __init__: RuntimeError: not today"):
        run("py-unmade")
    # Other runs go on.
    assert len(run("py-reno")) > 0


def test_a_failed_run_is_not_in_the_store(tmp_path: Path) -> None:
    @fw.law("py-late")
    class Late(Reno):
        def increase(self, window: fw.LawWindow, acked: float) -> float:
            if window.now > 4.9:
                raise RuntimeError("late")
            return super().increase(window, acked)

    changes = {"flows.dccp.dccp.ccid2.law": "py-late"}
    with pytest.raises(fw.LawError, match="late"):
        fw.sweep(DUMBBELL, seeds=4, duration="5s", set=changes, store=tmp_path)
    assert len(fw.Store(tmp_path)) == 0


def test_another_law_of_the_same_name_makes_other_runs(tmp_path: Path) -> None:
    def sweep() -> fw.Sweep:
        return fw.sweep(DUMBBELL, seeds=2, duration="2s", set={"flows.dccp.dccp.ccid2.law": "py-new"}, store=tmp_path)

    fw.law("py-new", version="1")(Reno)
    assert sweep().done == 2
    assert sweep().done == 0
    fw.law("py-new", version="2")(Seeing)
    assert sweep().done == 2

    class Wide(Reno):
        limits = bytearray(b"any object that is no plain value")

    fw.law("py-new")(Wide)
    with pytest.raises(ValueError, match="the law 'py-new' changes, and it uses limits .builtins.bytearray.*a version"):
        sweep()


def test_what_a_law_computes_with_makes_other_runs(tmp_path: Path) -> None:
    """A value in a closure, in a base class or beside the class counts, and the place in the file does not."""

    def sweep() -> int:
        changes = {"flows.dccp.dccp.ccid2.law": "py-made"}
        return fw.sweep(DUMBBELL, seeds=1, duration="1s", set=changes, store=tmp_path).done

    def make(beta: float, gain: float) -> type[Any]:
        class Base(Reno):
            factor = gain

        class Made(Base):
            def increase(self, window: fw.LawWindow, acked: float) -> float:
                return self.factor * helper(acked) / window.cwnd

            def cut(self, window: fw.LawWindow, signal: str) -> float:
                return beta * window.cwnd

        return Made

    for beta, gain, done in [(0.5, 1.0, 1), (0.75, 1.0, 1), (0.75, 0.5, 1), (0.5, 1.0, 0)]:
        fw.law("py-made")(make(beta, gain))
        assert sweep() == done, (beta, gain)
    code = "\n\n\n@fw.law('py-made')\nclass New:\n  def increase(self, w, a): return 0\n  def cut(self, w, s): return 1"
    for place in (0, 2):
        exec(code[place:], {"fw": fw})
        assert sweep() == (1 if place == 0 else 0)


def test_laws_may_use_libraries_and_inherit_from_them() -> None:
    """Their names count, so that a class needs no version because of them."""

    class Plain(fw.WindowLaw, abc.ABC):
        limit: float = 4.0

        def increase(self, window: fw.LawWindow, acked: float) -> float:
            return min(math.sqrt(acked), statistics.fmean([self.limit, 1.0]))

        def cut(self, window: fw.LawWindow, signal: str) -> float:
            return window.cwnd / 2 if signal in {"loss", "mark"} else window.cwnd

    first = fingerprint(Plain)
    assert first == fingerprint(Plain)
    Plain.limit = 5.0
    assert first != fingerprint(Plain)


def test_what_a_law_uses_of_a_module_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "law_numbers.py").write_text("import math\nGAIN = 0.5\nOTHER = 1\ndef cut(w): return math.sqrt(GAIN) * w\n")
    numbers: Any = importlib.import_module("law_numbers")

    class Numbered(Reno):
        def cut(self, window: fw.LawWindow, signal: str) -> float:
            return float(numbers.cut(window.cwnd))

    first = fingerprint(Numbered)
    numbers.OTHER = 2
    assert fingerprint(Numbered) == first, "it does not use this"
    numbers.GAIN = 0.25
    assert fingerprint(Numbered) != first

    class Anything(Reno):
        def cut(self, window: fw.LawWindow, signal: str) -> float:
            return float(eval("1"))

    with pytest.raises(Unknown, match="eval"):
        fingerprint(Anything)

    for wrong, text in LAWS_OF_ANYTHING.items():
        space: dict[str, Any] = {"Reno": Reno, "numbers": numbers, "helper": helper, "__name__": "__main__"}
        exec(f"import importlib\nclass Law(Reno):\n    {wrong}", space)
        with pytest.raises(Unknown, match=text):
            fingerprint(space["Law"])

    class Late(Reno):
        def cut(self, window: fw.LawWindow, signal: str) -> float:
            import math as of_python

            from law_numbers import GAIN  # type: ignore[import-not-found]

            return float(of_python.sqrt(GAIN)) * window.cwnd

    with pytest.raises(Unknown, match=r"import law_numbers within cut\(\)"):
        fingerprint(Late)


def helper(acked: float) -> float:
    return acked


# What cannot be compared, and what the error says.
LAWS_OF_ANYTHING = {
    "def cut(self, window, signal): return importlib.import_module('law_numbers').GAIN": "import_module",
    "def cut(self, window, signal): return helper(numbers)": "numbers, a module as a value",
    "def cut(self, window, signal, m=numbers): return m.GAIN": "cut, a module as a value",
    "def cut(self, window, signal): return getattr(numbers, 'GAIN')": "getattr",
    "def cut(self, window, signal): return numbers.__dict__['GAIN']": "__dict__",
    "numbers = numbers": "numbers, a module as a value",
    "table = __import__('collections').defaultdict(lambda: 2)": "defaultdict",
}


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def test_what_a_law_hides_counts() -> None:
    """A function that calls itself, the table of a bound method, and a value with the name of a special one."""
    table = {"gain": 2.0}

    class Hidden(Reno):
        __gain__ = 0.5
        get = table.get

        def cut(self, window: fw.LawWindow, signal: str) -> float:
            return factorial(3) * self.__gain__ * (self.get("gain") or 0.0)

    first = fingerprint(Hidden)
    table["gain"] = 3.0
    second = fingerprint(Hidden)
    Hidden.__gain__ = 0.25
    assert len({first, second, fingerprint(Hidden)}) == 3


@pytest.mark.parametrize("engine", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_a_law_that_fails_in_a_worker_is_told(engine: Any, tmp_path: Path) -> None:
    """As it is told without workers, and no run of it is in the store."""
    for value, text in [(float("nan"), "it returned NaN"), (None, "failed in increase")]:

        @fw.law("py-broken")
        class Broken(Reno):
            def increase(self, window: fw.LawWindow, acked: float, value: Any = value) -> Any:
                return value

        with engine(1) as executor, pytest.raises(fw.LawError, match=text):
            changes = {"flows.dccp.dccp.ccid2.law": "py-broken"}
            fw.sweep(DUMBBELL, seeds=3, duration="2s", set=changes, store=tmp_path, executor=executor)
        assert len(fw.Store(tmp_path)) == 0


def test_workers_with_another_class_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has imported a module keeps it, although the file has changed since."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = tmp_path / "changing_law.py"
    code = "class Changing:\n    def increase(self, w, a): return a / w.cwnd\n    def cut(self, w, s): return {} * w.cwnd\n"
    module.write_text(code.format(0.5))
    changing = importlib.import_module("changing_law")
    fw.law("py-changing")(changing.Changing)
    context = multiprocessing.get_context("fork")
    changes = {"flows.dccp.dccp.ccid2.law": "py-changing"}
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        first = fw.sweep(DUMBBELL, seeds=1, duration="1s", set=changes, store=tmp_path / "store", executor=executor)
        assert first.done == 1
        module.write_text(code.format(0.875))
        fw.law("py-changing")(importlib.reload(changing).Changing)
        with pytest.raises(fw.WorkerError, match="a worker has another class for the law 'py-changing'"):
            fw.sweep(DUMBBELL, seeds=1, duration="1s", set=changes, store=tmp_path / "store", executor=executor)


def test_sockets_refuse_laws_in_python() -> None:
    """A call that holds the interpreter waits for the connection, which would wait for the interpreter."""
    with pytest.raises(errors.ConfigError, match='law.*"py-reno" is in Python'):
        net.connect("127.0.0.1:1", 1, security=fw.CLEAR_TEXT, config={"law": "py-reno"}, timeout=1)


def test_laws_travel_to_workers(tmp_path: Path) -> None:
    changes = {"flows.dccp.dccp.ccid2.law": "py-reno"}
    arguments: dict[str, Any] = {"seeds": 3, "duration": "2s", "set": changes}
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        there = fw.sweep(DUMBBELL, store=tmp_path, executor=executor, **arguments)
    assert there.done == 3
    assert there.runs.column("digest") == fw.run(DUMBBELL, **arguments).runs.column("digest")[:3]


def test_wrong_laws_are_refused() -> None:
    with pytest.raises(TypeError, match="the law 'half' needs a method cut"):
        fw.law("half")(type("Half", (), {"increase": lambda self, window, acked: 1.0}))
    with pytest.raises(TypeError, match="a method treshold, which is never called: if threshold is meant"):
        fw.law("almost")(type("Almost", (Reno,), {"treshold": lambda self, left: left}))
    with pytest.raises(TypeError, match='a law needs a name, as in @fairwire.law\\("mine"\\), and not <class'):
        fw.law(Reno)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the law 'three' is a class, and not 3"):
        fw.law("three")(3)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="no name of a law"):
        fw.law("My Law")(Reno)
    with pytest.raises(ValueError, match="newreno"):
        fw.law("newreno")(Reno)
