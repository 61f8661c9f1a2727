"""Figures that the reader moves: alive in a notebook with a kernel and in the built book without one.

Each explorable is a Python class and a JavaScript file of the same name beside it. The JavaScript does the arithmetic,
so that the figure needs no kernel; the class holds the same state as traits, which follow it.
"""

from attn_course.figures.ask_share_receive import AskShareReceive as AskShareReceive
from attn_course.figures.ask_three_times import AskThreeTimes as AskThreeTimes
from attn_course.figures.bundle import figure_scripts as figure_scripts
from attn_course.figures.bundle import scripts_on_request as scripts_on_request
from attn_course.figures.bundle import shared_script as shared_script
from attn_course.figures.bundle import without_comments as without_comments
from attn_course.figures.cost import CostExplorer as CostExplorer
from attn_course.figures.gauge import GaugeExplorer as GaugeExplorer
from attn_course.figures.guess import Guess as Guess
from attn_course.figures.guess import answer_to as answer_to
from attn_course.figures.head_game import HeadGame as HeadGame
from attn_course.figures.joined import FOLDER as FOLDER
from attn_course.figures.joined import joined as joined
from attn_course.figures.joined import read_source as read_source
from attn_course.figures.library_answers import LibraryAnswers as LibraryAnswers
from attn_course.figures.mask import MaskExplorer as MaskExplorer
from attn_course.figures.novel_reader import NovelReader as NovelReader
from attn_course.figures.parameters import ParameterCounter as ParameterCounter
from attn_course.figures.press_train import PressTrain as PressTrain
from attn_course.figures.rotary import RotaryExplorer as RotaryExplorer
from attn_course.figures.self_check import SelfCheck as SelfCheck
from attn_course.figures.smollm2_reader import SmolLM2Reader as SmolLM2Reader
from attn_course.figures.softmax import SoftmaxExplorer as SoftmaxExplorer
from attn_course.figures.stepper import SentenceStepper as SentenceStepper
from attn_course.figures.walks import WalkExplorer as WalkExplorer
from attn_course.figures.wall import HeadsWall as HeadsWall
from attn_course.figures.wire import Wire as Wire
