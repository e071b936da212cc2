"""Large language models over shared context, exactly.

    with pando.Engine() as engine:  # or pando.Engine("path/of/a/model")
        answers = engine.answer(context, questions)

Everything may be used from any thread; a stream is read by one thread at a time. Calls wait without
holding the interpreter's lock. Errors of the package are pando.Error.
"""

from ._async import AsyncEngine
from ._c import Error, Place, version
from ._completion import (
    BatchSummary,
    Completion,
    Event,
    Failure,
    Label,
    Message,
    Perplexity,
    Ranked,
    Score,
    ToolCall,
)
from ._engine import Engine
from ._frame import FrameError
from ._model import Model, ModelInfo, demo_model
from ._requests import AnswerOptions, BatchOptions, ClassifyOptions, EmbedOptions, Options, Question, RerankOptions
from ._stream import Stream

__version__ = version()
__all__ = [
    "AnswerOptions",
    "AsyncEngine",
    "BatchOptions",
    "BatchSummary",
    "ClassifyOptions",
    "Completion",
    "EmbedOptions",
    "Engine",
    "Error",
    "Event",
    "Failure",
    "FrameError",
    "Label",
    "Message",
    "Model",
    "ModelInfo",
    "Options",
    "Perplexity",
    "Place",
    "Question",
    "Ranked",
    "RerankOptions",
    "Score",
    "Stream",
    "ToolCall",
    "demo_model",
]
