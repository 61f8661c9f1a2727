"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and a JavaScript file of the same name beside it. The JavaScript does the arithmetic,
so that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

from attn.figures.attention import AttentionExplorer
from attn.figures.base import FOLDER, read_source
from attn.figures.bundle import book_script
from attn.figures.cost import CostExplorer
from attn.figures.gauge import GaugeExplorer
from attn.figures.head_guess import HeadGuess
from attn.figures.heads import HeadsExplorer
from attn.figures.mask import MaskExplorer
from attn.figures.novel_reader import NovelReader
from attn.figures.parameters import ParameterCounter
from attn.figures.query_plane import QueryPlane
from attn.figures.rotary import RotaryExplorer
from attn.figures.scaling import ScalingExplorer
from attn.figures.self_check import SelfCheck
from attn.figures.softmax import SoftmaxExplorer
from attn.figures.stepper import SentenceStepper
from attn.figures.training import TrainingExplorer
from attn.figures.update_plane import UpdatePlane

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
