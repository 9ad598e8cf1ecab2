"""Hosts that are like a CPU but for a few figures, for tests of what these decide."""

import dataclasses

from xeemu.devices import target


def cpu_with(part, **figures):
    """In place of `target.TARGETS`: the CPU as it is now, with other figures in a part such as `"threads"`."""
    now = target.of_platform("cpu")
    return {"cpu": dataclasses.replace(now, **{part: dataclasses.replace(getattr(now, part), **figures)})}


def take(monkeypatch, part, **figures):
    """What is launched from now on in a test is launched on such a CPU; several calls add up."""
    monkeypatch.setattr(target, "TARGETS", cpu_with(part, **figures))
