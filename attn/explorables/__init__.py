"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and a JavaScript file of the same name beside it. The JavaScript does the arithmetic,
so that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

from attn.explorables.attention import AttentionExplorer
from attn.explorables.base import FOLDER, read_source
from attn.explorables.bundle import book_script
from attn.explorables.cost import CostExplorer
from attn.explorables.gauge import GaugeExplorer
from attn.explorables.head_guess import HeadGuess
from attn.explorables.heads import HeadsExplorer
from attn.explorables.mask import MaskExplorer
from attn.explorables.novel_reader import NovelReader
from attn.explorables.parameters import ParameterCounter
from attn.explorables.query_plane import QueryPlane
from attn.explorables.rotary import RotaryExplorer
from attn.explorables.scaling import ScalingExplorer
from attn.explorables.self_check import SelfCheck
from attn.explorables.softmax import SoftmaxExplorer
from attn.explorables.stepper import SentenceStepper
from attn.explorables.training import TrainingExplorer
from attn.explorables.update_plane import UpdatePlane

__all__ = [
    "FOLDER",
    "AttentionExplorer",
    "CostExplorer",
    "GaugeExplorer",
    "HeadGuess",
    "HeadsExplorer",
    "MaskExplorer",
    "NovelReader",
    "ParameterCounter",
    "QueryPlane",
    "RotaryExplorer",
    "ScalingExplorer",
    "SelfCheck",
    "SentenceStepper",
    "SoftmaxExplorer",
    "TrainingExplorer",
    "UpdatePlane",
    "book_script",
    "read_source",
]
