"""Tests write files and look at them at once; that the same tick may see another write is for one test to tell."""

from __future__ import annotations

import pytest

from fyke.desktop import state


@pytest.fixture(autouse=True)
def _calm_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "RACE", 0.0)
