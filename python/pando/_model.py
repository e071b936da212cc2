from __future__ import annotations

import ctypes
import json
import os
import pathlib
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._c import Error, Handle, check, library, wrong

Tokens = Union[Sequence[int], npt.NDArray[np.integer]]


def demo_model() -> pathlib.Path:
    """The directory of the demo model, which answers questions about made-up facts."""
    here = pathlib.Path(__file__).resolve().parent
    places = [here / "models/demo", here.parents[1] / "models/demo"]  # in the wheel, in the repository
    for place in places:
        if (place / "config.json").exists():
            return place
    raise Error(
        "not_found",
        f"the demo model is not in {' or '.join(map(str, places))} (hint: copy the folder models/demo of Pando there, "
        "or load a model of your own)",
    )


def token_array(tokens: Tokens) -> npt.NDArray[np.int32]:
    try:
        array = np.asarray(tokens)
    except (ValueError, OverflowError) as error:  # rows of different lengths
        raise wrong("tokens", f"tokens are no list of integers: {error}") from None
    if array.ndim != 1 or (array.size > 0 and not np.issubdtype(array.dtype, np.integer)):
        raise wrong("tokens", f"tokens are {array.dtype} of shape {array.shape}, expected integers of shape [n]")
    if array.size > 0 and not 0 <= int(array.min()) <= int(array.max()) < 2**31:
        raise wrong("tokens", f"tokens are {array.min()} to {array.max()}, expected 0 to 2^31 - 1")
    return np.ascontiguousarray(array, dtype=np.int32)


def as_c_tokens(array: npt.NDArray[np.int32]) -> ctypes._Pointer[ctypes.c_int32]:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))


@dataclass(frozen=True)
class ModelInfo:
    family: str  # "llama", "qwen3", ...
    n_parameters: int
    n_layers: int
    d_model: int
    vocab: int
    max_positions: int  # longest sequence the model was made for, in tokens
    weight_type: str  # "f32", "f16", "bf16", "q8_0", "q4_0", "int8" or "bf16_dot"
    weight_bytes: int  # in memory
    has_tokenizer: bool


class Model:
    """Weights and tokenizer of a Hugging Face model directory or a GGUF file; immutable.

    weights: "stored", or made while loading "f32", "f16", "bf16", "q8_0", "q4_0", "int8" or "bf16_dot". tokenizer: where it is, if it is
    not the model's own. chat_template: a file, or the name of one of the model's templates. tool_format: how
    the model writes tool calls; by default as its template shows. threads: for loading; 0 means one for each fast processor. device: what computes; by default "cpu".
    """

    def __init__(
        self,
        path: Union[str, os.PathLike[str]],
        *,
        weights: str = "stored",
        tokenizer: Union[str, os.PathLike[str], None] = None,
        chat_template: Union[str, os.PathLike[str], None] = None,
        tool_format: str = "auto",
        threads: int = 0,
        device: str = "",
    ) -> None:
        options = {"weights": weights, "tool_format": tool_format, "threads": threads, "device": device}
        if tokenizer is not None:
            options["tokenizer"] = os.fspath(tokenizer)
        if chat_template is not None:
            options["chat_template"] = os.fspath(chat_template)
        pointer = ctypes.c_void_p()
        check(library.pando_model_load(os.fsencode(path), json.dumps(options).encode(), ctypes.byref(pointer)))
        self._handle: Optional[Handle] = Handle(pointer.value, library.pando_model_free)
        self.info = ModelInfo(**json.loads(library.pando_model_info(pointer)))

    def handle(self) -> Handle:
        if self._handle is None:
            raise wrong("model", "the model is closed")
        return self._handle

    def encode(self, text: str, *, add_bos: bool = True) -> npt.NDArray[np.int32]:
        """Tokens [n] of a text; add_bos: with the beginning-of-sequence token where the model wants one."""
        if not isinstance(text, str):
            found = type(text).__name__
            raise wrong("text", f"the text is of type {found}, expected a string (hint: encode texts one by one)")
        data, handle, n = text.encode(), self.handle(), ctypes.c_size_t(len(text) + 8)
        while True:
            tokens = np.empty(n.value, dtype=np.int32)
            room = (as_c_tokens(tokens), tokens.size, ctypes.byref(n))
            check(library.pando_encode(handle.pointer, data, len(data), add_bos, *room))
            if n.value <= tokens.size:
                return tokens[: n.value].copy()

    def decode(self, tokens: Tokens) -> str:
        """Text of tokens [n]; special tokens are left out."""
        array, handle, size = token_array(tokens), self.handle(), ctypes.c_size_t(256)
        while True:
            text = ctypes.create_string_buffer(size.value)
            room = (text, len(text), ctypes.byref(size))
            check(library.pando_decode(handle.pointer, as_c_tokens(array), array.size, *room))
            if size.value <= len(text):
                return text.raw[: size.value].decode()

    def sampling_defaults(self) -> dict[str, Any]:
        """Options that the model's files recommend. They have no effect unless a call is given them."""
        handle, size, text = self.handle(), ctypes.c_size_t(), ctypes.create_string_buffer(1 << 16)
        check(library.pando_sampling_defaults(handle.pointer, text, len(text), ctypes.byref(size)))
        options: dict[str, Any] = json.loads(text.raw[: size.value])
        return options

    def close(self) -> None:
        """Engines of the model go on."""
        self._handle = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
