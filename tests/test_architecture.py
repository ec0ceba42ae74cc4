"""The rules of ARCHITECTURE.md, each as a test that names the offender."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests import drawings
from tests.source import ROOT, SOURCE, modules

CORE = frozenset(
    {"bits", "formats", "text", "sites", "frontier", "convert", "clean", "dedupe", "topic", "reading"}
    | {"url", "values", "interfaces", "errors"}
)
IMPURE = frozenset(
    {"asyncio", "http", "io", "multiprocessing", "os", "pathlib", "pycurl", "random", "rocksdict", "secrets", "shutil"}
    | {"socket", "ssl", "subprocess", "tempfile", "threading", "time", "urllib", "uuid"}
)
ALLOWED = {
    "fyke.bits.jit": {"os"},  # whether to compile
    "fyke.bits.dispatcher": {"os", "pathlib", "time"},  # compilations are timed and noted
    "fyke.bits.kernelkeys": {"pathlib"},  # sources are hashed
    "fyke.bits.kernelcache": {"os", "pathlib"},  # the kernels' cache on disk
    "fyke.bits.warmed": {"os", "pathlib"},  # marks there, named by the sources
    "fyke.dedupe.disk": {"os", "pathlib"},  # sketches outlive a process and outgrow memory: mapped files
    "fyke.dedupe.spool": {"os", "pathlib", "tempfile"},  # a collection larger than memory: sorted runs, scratch
    "fyke.convert.engine": {"asyncio"},  # the engine answers only to an event loop
    "fyke.convert.epub": {"urllib"},  # unquote
    "fyke.formats.inline_markdown": {"urllib"},  # quote
    "fyke.formats.xml": {"io"},  # libxml2 reads file objects; they are bytes
    "fyke.sites.forms": {"urllib"},  # what a form sends
    "fyke.sites.websub": {"urllib"},  # queries and forms
    "fyke.convert.members": {"io"},  # readers of archives want file objects; they are bytes
}
"""Modules of the core that touch the outside, with what they touch."""

# training: examples of what a topic is not, where the user has none and no store
MAY_USE_WORLD = ("fyke.world", "fyke.cli.demo_", "fyke.cli.cluster_try", "fyke.cli.world_", "fyke.cli.training")
SHARED_KERNELS = ("fyke.bits.", "fyke.formats.", "fyke.text.")
"""Rooms below all others, whose kernels are everyone's."""
MAX_LINES = 400
MAX_FUNCTION = 50
"""Lines of a function, its docstring apart."""
MAX_ARGUMENTS = 10
"""Parameters of a function, and what a call gives by position; the fields of a record, by name, may be more."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("fyke", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None)


def everything() -> list[tuple[Path, ast.Module]]:
    """The source, and what tests and measures it."""
    return [each for below in (SOURCE, ROOT / "tests", ROOT / "bench") for each in modules(below)]


def in_core(module: str) -> bool:
    parts = module.split(".")
    return len(parts) > 1 and parts[1] in CORE


def test_imports_go_downwards() -> None:
    # In a process of its own: it turns off every logger that it finds.
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    ended = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_commands_speak_through_one_filter() -> None:
    """Foreign text reaches a terminal by ``fyke.cli.echo`` alone; the demo shows a world of its own."""
    for path, tree in modules():
        if path.parent.name != "cli" or path.name == "echo.py":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"typer.echo", "typer.secho", "typer.style", "print"}, f"{path}:{node.lineno}"
                assert called != "Console" or path.name == "demo_.py", f"{path}:{node.lineno}"


def test_core_imports_no_clock_network_disk_or_chance(graph: grimp.ImportGraph) -> None:
    offenders = [
        f"{module} imports {imported}"
        for module in sorted(graph.modules)
        if in_core(module)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if imported in IMPURE and imported not in ALLOWED.get(module, ())
    ]
    assert offenders == []


def test_core_calls_no_clock_disk_or_chance() -> None:
    offenders = []
    for path, tree in modules():
        name = "fyke." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if not in_core(name) or name in ALLOWED:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
                offenders.append(f"{name}:{node.lineno} opens a file")
            if isinstance(node, ast.Attribute) and node.attr in {"now", "utcnow", "today", "default_rng", "memmap"}:
                offenders.append(f"{name}:{node.lineno} uses .{node.attr}")
    assert offenders == []


def test_kernels_are_private_to_their_room(graph: grimp.ImportGraph) -> None:
    offenders = []
    for module in sorted(graph.modules):
        if (
            module.startswith("fyke.")
            and module.split(".")[-1].endswith("kernels")
            and not module.startswith(SHARED_KERNELS)
        ):
            room = module.split(".")[1]
            offenders += [
                f"{importer} imports {module}"
                for importer in graph.find_modules_that_directly_import(module)
                if importer.split(".")[1] != room
            ]
    assert offenders == []


def test_kernels_live_in_bits_or_in_kernel_modules(graph: grimp.ImportGraph) -> None:
    users = graph.find_modules_that_directly_import("fyke.bits.jit")
    assert [u for u in users if not u.startswith("fyke.bits.") and not u.endswith("kernels")] == []


PARSERS = {
    "turbohtml": {"fyke.formats.html", "fyke.formats.encoding"},  # its codecs are the encoding standard's
    "selectolax": {"fyke.formats.html"},
    "lxml": {"fyke.formats.xml"},
}
"""Parsers of HTML and XML, each behind one module."""
BESIDE = ("fyke.lecture", "fyke.world")
"""What shows the rooms at work."""


def test_each_parser_is_behind_one_module(graph: grimp.ImportGraph) -> None:
    offenders = [
        f"{importer} imports {parser}"
        for parser, behind in PARSERS.items()
        if parser in graph.modules
        for importer in graph.find_modules_that_directly_import(parser)
        if importer not in behind
    ]
    assert offenders == []


def test_above_reading_nobody_cleans_converts_or_parses(graph: grimp.ImportGraph) -> None:
    """Whatever has a page has it read: no other way leads from bytes to text."""
    below = {"clean", "convert", "reading", "sites", "formats", "text"}
    rooms = ("fyke.clean", "fyke.convert", "fyke.formats.html", "fyke.formats.markup", "fyke.formats.link_kernels")
    offenders = [
        f"{importer} imports {module}"
        for module in graph.modules
        if module.startswith(rooms)
        for importer in graph.find_modules_that_directly_import(module)
        if importer.split(".")[1] not in below and not importer.startswith(BESIDE)
    ]
    assert offenders == []


def test_one_tokeniser_of_markup() -> None:
    """Only the tokeniser and who writes its rows know how a tag is cut."""
    tokenisers = [
        path.name
        for path, tree in modules()
        if any(isinstance(node, ast.FunctionDef) and node.name == "tokenize" for node in ast.walk(tree))
        and "page" in ast.unparse(tree)
    ]
    assert tokenisers == ["markup_kernels.py"]


def test_one_tokeniser_of_words(graph: grimp.ImportGraph) -> None:
    """Who counts words has them from the room of words; nobody cuts them with a function or a pattern of his own."""
    for room in ("dedupe", "topic", "archive", "reading"):
        names = [name for name in graph.modules if name.startswith(f"fyke.{room}.")]
        imported = {other for name in names for other in graph.find_modules_directly_imported_by(name)}
        assert imported & {"fyke.text.words", "fyke.text.word_kernels"}, f"{room} has its words from elsewhere"
    cutters = {
        r"\w+",
        r"(\w+)",
        r"\b\w+\b",
        r"[^\W_]+",
        r"[^\W\d_]+",
        "[a-z]+",
        "[a-z0-9]+",
        "[a-zA-Z]+",
        "[A-Za-z0-9]+",
    }
    offenders = [
        f"{path.relative_to(SOURCE)} cuts words by {ast.unparse(node)[:60]}"
        for path, tree in modules()
        if path.parent.name not in ("text", "world", "lecture")  # these show what others must do
        for node in ast.walk(tree)
        if (isinstance(node, ast.Constant) and node.value in cutters)
        or (isinstance(node, ast.FunctionDef) and node.name in ("word_hashes", "shingles", "fold_words"))
    ]
    assert offenders == []


def test_one_writer_of_html_and_markdown(graph: grimp.ImportGraph) -> None:
    """Tagged HTML is written by one kernel, Markdown by one module; who wants either asks these."""
    assert graph.find_modules_that_directly_import("fyke.convert.write_kernels") == {"fyke.convert.html"}
    assert graph.find_modules_that_directly_import("fyke.formats.inline_markdown") == {"fyke.formats.markdown"}
    writers = {
        f"{path.parent.name}/{path.name}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in ("tagged", "markdown", "to_markdown", "to_html")
    }
    asking = {"fyke/content.py", "reading/page.py"}  # these ask the second
    assert writers == {"convert/html.py", "formats/markdown.py"} | asking


def test_world_is_for_demo_tests_and_benches(graph: grimp.ImportGraph) -> None:
    offenders = [
        f"{importer} imports {module}"
        for module in graph.modules
        if module.startswith("fyke.world")
        for importer in graph.find_modules_that_directly_import(module)
        if not importer.startswith(MAY_USE_WORLD)
    ]
    assert offenders == []


def test_nothing_is_pickled(graph: grimp.ImportGraph) -> None:
    banned = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
    offenders = [
        f"{module} imports {imported}"
        for module in graph.modules
        if module.startswith("fyke")
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in banned
    ]
    assert offenders == []


def test_modules_fit_in_the_head_and_say_what_they_are() -> None:
    for path, tree in everything():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MAX_LINES, f"{path} has {lines} lines: split it"
        named = path.name.startswith("test_")  # after what it tests
        assert named or ast.get_docstring(tree), f"{path} does not say what it is"


Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def found() -> tuple[list[tuple[str, Function]], list[tuple[str, ast.Call]]]:
    """Every function and every call, each with where it stands."""
    functions: list[tuple[str, Function]] = []
    calls: list[tuple[str, ast.Call]] = []
    for path, tree in everything():
        name = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).as_posix()
        for node in ast.walk(tree):
            if isinstance(node, Function):
                functions.append((f"{name}:{node.name}", node))
            elif isinstance(node, ast.Call):
                calls.append((f"{name}:{node.lineno}", node))
    return functions, calls


def length(node: Function) -> int:
    lines = (node.end_lineno or 0) - node.lineno + 1
    first = node.body[0]
    return lines - ((first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0)


def test_functions_fit_on_a_screen(found: tuple[list[tuple[str, Function]], object]) -> None:
    long = {name: length(node) for name, node in found[0] if length(node) > MAX_FUNCTION}
    assert long == {}


def test_nobody_counts_arguments(found: tuple[list[tuple[str, Function]], list[tuple[str, ast.Call]]]) -> None:
    offenders = []
    functions, calls = found
    for name, node in functions:
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if sum(each.arg not in ("self", "cls") for each in given) > MAX_ARGUMENTS:
            offenders.append(f"{name} has {len(given)} parameters")
    offenders += [
        f"{name} gives {len(call.args)} by position: name them"
        for name, call in calls
        if len(call.args) > MAX_ARGUMENTS
        and not all(isinstance(each, ast.Constant) for each in call.args)  # a list of words
    ]
    assert offenders == []


def test_tests_mirror_the_source() -> None:
    tests = ROOT / "tests"
    for folder in (p for p in tests.iterdir() if p.is_dir() and any(p.glob("test_*.py"))):
        assert (SOURCE / folder.name).is_dir(), f"tests/{folder.name} mirrors no room"
    for room in (p for p in SOURCE.iterdir() if (p / "__init__.py").exists()):
        assert any((tests / room.name).glob("test_*.py")), f"room {room.name} has no test"


def test_architecture_page_is_fresh() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert drawings.architecture(page) == page, "run `make docs`"
