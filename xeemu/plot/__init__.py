"""Pictures of what a launch costs, of its faults and of executions, with matplotlib: `pip install matplotlib`.

Every function draws into the axes that it is given, or into new ones, and returns them; nothing is shown or saved.
"""

from xeemu.plot.banks import bank_map
from xeemu.plot.executions import execution
from xeemu.plot.lanes import activity
from xeemu.plot.races import race
from xeemu.plot.roofs import roofline
from xeemu.plot.steps import occupancy
from xeemu.plot.sweeps import sweep
from xeemu.plot.tiles import tile
from xeemu.plot.traffic import memory_chart
from xeemu.plot.waits import latency

__all__ = [
    "activity",
    "bank_map",
    "execution",
    "latency",
    "memory_chart",
    "occupancy",
    "race",
    "roofline",
    "sweep",
    "tile",
]
