"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and a JavaScript file of the same name beside it. The JavaScript does the arithmetic,
so that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

from attn.figures.ask_share_receive import AskShareReceive as AskShareReceive
from attn.figures.ask_three_times import AskThreeTimes as AskThreeTimes
from attn.figures.base import FOLDER as FOLDER
from attn.figures.base import read_source as read_source
from attn.figures.bundle import brought_scripts as brought_scripts
from attn.figures.bundle import figure_scripts as figure_scripts
from attn.figures.bundle import light as light
from attn.figures.bundle import shared_script as shared_script
from attn.figures.cost import CostExplorer as CostExplorer
from attn.figures.formula_parts import FormulaParts as FormulaParts
from attn.figures.gauge import GaugeExplorer as GaugeExplorer
from attn.figures.guess import Guess as Guess
from attn.figures.guess import answer_to as answer_to
from attn.figures.mask import MaskExplorer as MaskExplorer
from attn.figures.news import NewsExplorer as NewsExplorer
from attn.figures.norm import NormExplorer as NormExplorer
from attn.figures.notes import NotesSquare as NotesSquare
from attn.figures.novel_reader import NovelReader as NovelReader
from attn.figures.online import OnlineSoftmax as OnlineSoftmax
from attn.figures.parameters import ParameterCounter as ParameterCounter
from attn.figures.press_train import PressTrain as PressTrain
from attn.figures.rotary import RotaryExplorer as RotaryExplorer
from attn.figures.self_check import SelfCheck as SelfCheck
from attn.figures.smollm2_reader import SmolLM2Reader as SmolLM2Reader
from attn.figures.softmax import SoftmaxExplorer as SoftmaxExplorer
from attn.figures.softmax_back import SoftmaxBackward as SoftmaxBackward
from attn.figures.stepper import SentenceStepper as SentenceStepper
from attn.figures.walks import WalkExplorer as WalkExplorer
from attn.figures.wall import HeadsWall as HeadsWall
