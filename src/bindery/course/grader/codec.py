"""Plain data to bytes and back: JSON and raw array bytes, never a pickle.

The reader takes nothing on trust. It knows before it reads how much may come, every array's bytes are counted
once and in order, and what is not exactly in the format raises GarbledError.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np

HEADER = struct.Struct("!4sII")
MAGIC = b"BND1"
MAX_JSON = 8 << 20
MAX_ARRAYS = 64 << 20
_MAX_DEPTH = 24
_MAX_DIGITS = 400
_KINDS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
_DTYPES = {code: np.dtype(code) for code in _KINDS}


class GarbledError(ValueError):
    """The bytes are not a message of this format, or the value cannot be put into one."""


def encode(value: Any) -> bytes:
    """One message: header, JSON, the arrays' bytes one after the other.

    Raises
    ------
    GarbledError
        A type that is no plain data, or more than the format's limits.
    """
    arrays: list[bytes] = []
    try:
        text = json.dumps(_pack(value, arrays, _MAX_DEPTH), separators=(",", ":")).encode("ascii")
    except (ValueError, TypeError, RecursionError) as error:
        raise GarbledError(str(error)) from None
    length = sum(map(len, arrays))
    if len(text) > MAX_JSON or length > MAX_ARRAYS:
        raise GarbledError(f"more than {MAX_JSON >> 20} MB of text or {MAX_ARRAYS >> 20} MB of arrays")
    return b"".join([HEADER.pack(MAGIC, len(text), length), text, *arrays])


def _pack(value: Any, arrays: list[bytes], depth: int) -> Any:
    kind = type(value)
    if depth == 0:
        raise GarbledError("nested too deep")
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        if value.bit_length() > 3 * _MAX_DIGITS:
            raise GarbledError("an integer of too many digits")
        return value
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind in (list, tuple):
        return [_pack(entry, arrays, depth - 1) for entry in value]
    if kind is dict:
        if any(type(key) is not str for key in value):
            raise GarbledError("a key that is no string")
        return {"dict": {key: _pack(entry, arrays, depth - 1) for key, entry in value.items()}}
    if kind is np.ndarray:
        dtype = value.dtype.newbyteorder("<")
        if dtype.str not in _DTYPES:
            raise GarbledError(f"an array of dtype {value.dtype}")
        arrays.append(np.ascontiguousarray(value, dtype=dtype).tobytes())
        return {"array": [dtype.str, list(value.shape)]}
    raise GarbledError(f"a {kind.__name__}")


def sizes(header: bytes) -> tuple[int, int]:
    """Lengths of the JSON and of the arrays that follow the header; raises GarbledError beyond the limits."""
    magic, text, arrays = HEADER.unpack(header)
    if magic != MAGIC or text > MAX_JSON or arrays > MAX_ARRAYS:
        raise GarbledError("no message starts here")
    return text, arrays


def decode(text: bytes, arrays: bytes) -> Any:
    """The value of a message whose JSON and array bytes have been read.

    Arrays come back as fresh, writable, native arrays; a bool array's bytes are brought to 0 and 1.

    Raises
    ------
    GarbledError
        Anything that ``encode`` would not have written.
    """
    try:
        value = json.loads(text.decode("ascii"), parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise GarbledError(f"no JSON: {type(error).__name__}") from None
    reader = _Arrays(arrays)
    try:
        result = _unpack(value, reader, _MAX_DEPTH)
    except (UnicodeEncodeError, OverflowError) as error:
        raise GarbledError(type(error).__name__) from None
    if reader.at != len(arrays):
        raise GarbledError("bytes that belong to no array")
    return result


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise GarbledError("an integer of too many digits")
    return int(digits)


def _unpack(value: Any, arrays: _Arrays, depth: int) -> Any:
    if depth == 0:
        raise GarbledError("nested too deep")
    if isinstance(value, str):
        value.encode("utf-8")
        return value
    if isinstance(value, list):
        return [_unpack(entry, arrays, depth - 1) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise GarbledError("an object with other than one key")
    ((tag, content),) = value.items()
    if tag == "dict" and isinstance(content, dict):
        return {
            key: _unpack(entry, arrays, depth - 1) for key, entry in content.items() if key.encode() or True
        }
    if tag == "complex" and isinstance(content, list) and [type(part) for part in content] == [float, float]:
        return complex(*content)
    if tag == "array" and isinstance(content, list) and len(content) == 2:
        return arrays.take(*content)
    raise GarbledError("an object of an unknown kind")


class _Arrays:
    """Hands out the array bytes in order, each once."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, code: Any, shape: Any) -> np.ndarray:
        """The next array, of that dtype and shape."""
        dtype = _DTYPES.get(code) if isinstance(code, str) else None
        if dtype is None or not isinstance(shape, list) or len(shape) > 32:
            raise GarbledError("an array of an unknown kind")
        if any(type(n) is not int or not 0 <= n <= MAX_ARRAYS for n in shape):
            raise GarbledError("an array of an impossible shape")
        length = math.prod(shape) * dtype.itemsize
        if math.prod(n for n in shape if n) > MAX_ARRAYS or self.at + length > len(self.content):
            raise GarbledError("an array longer than its bytes")
        flat = np.frombuffer(self.content, dtype=np.uint8, count=length, offset=self.at)
        self.at += length
        if dtype.kind == "b":
            return (flat != 0).reshape(shape)
        return np.array(flat.view(dtype).reshape(shape), dtype=dtype.newbyteorder("="), copy=True)
