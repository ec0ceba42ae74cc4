"""A crawl on three machines, one of which dies, and a fourth that joins: with Ray, inside a network namespace."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.crawl.internet.net import unavailable

DEADLINE = 400


@pytest.mark.timeout(DEADLINE + 20)
def test_a_machine_dies_another_joins_and_the_truth_is_found() -> None:
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    if why := unavailable():
        pytest.skip(why)
    command = ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.cluster.on_ray"],
        capture_output=True,
        timeout=DEADLINE,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()[-8000:]
    assert len(done.stdout.splitlines()) == 1, "nothing of Ray's is in it, though a machine has died"
    facts = json.loads(done.stdout)
    assert facts["nodes"][:3] == ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
    assert facts["gone"] == 1, "the node that was killed, and no other"
    assert not facts["missing"], "the truth is complete"
    assert not facts["forbidden"]
    assert not facts["doubled"], "no page was stored twice"
    assert not facts["early"], "no host was met before its gap was over, by the server's log"
    assert facts["ended"] == "done"
    assert facts["pages"]
    assert facts["backed_up"]
    assert not facts["faults"], "every chain of the depot goes on from claim to claim"
    assert facts["copies"], "a job over the tablets finds what one machine finds in the whole store"
    assert not facts["jobs"], "export, archive and PageRank are those of one machine"
    assert facts["sketched"][0] == facts["sketched"][1], "the sketch of each text is a cell of its row"
    families, settled = facts["families"]
    assert families > 10
    assert settled >= families - 1, "of near copies all but one are marked, though a machine dies (routing finds .992)"
    assert not facts["headless"], "one of each family is nobody's copy"
    assert not facts["left"], "nothing is left running"
