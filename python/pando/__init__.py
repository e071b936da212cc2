"""Large language models over shared context, exactly.

    with pando.Engine() as engine:  # or pando.Engine("path/of/a/model")
        answers = engine.answer(context, questions)

Everything may be used from any thread; a stream is read by one thread at a time. Calls wait without
holding the interpreter's lock.
"""

from ._c import PandoError, version
from ._completion import Completion, Event, Score, ToolCall
from ._engine import AnswerOptions, Engine, Message, Options, Stream
from ._model import Model, ModelInfo, demo_model

__version__ = version()
__all__ = [
    "AnswerOptions",
    "Completion",
    "Engine",
    "Event",
    "Message",
    "Model",
    "ModelInfo",
    "Options",
    "PandoError",
    "Score",
    "Stream",
    "ToolCall",
    "demo_model",
]
