"""The Arrow C data interface in ctypes, independently of recordpipe."""

import ctypes

pythonapi = ctypes.pythonapi
pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
pythonapi.PyCapsule_New.restype = ctypes.py_object
pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowArrayStream(ctypes.Structure):
    pass


# CFUNCTYPE releases the GIL during the call, as consumers in C++ do.
ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
ArrowArrayStream._fields_ = [
    (
        "get_schema",
        ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema)
        ),
    ),
    (
        "get_next",
        ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray)
        ),
    ),
    (
        "get_last_error",
        ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream)),
    ),
    ("release", ReleaseStream),
    ("private_data", ctypes.c_void_p),
]

_VALUES = {
    b"c": ctypes.c_int8,
    b"C": ctypes.c_uint8,
    b"s": ctypes.c_int16,
    b"S": ctypes.c_uint16,
    b"i": ctypes.c_int32,
    b"I": ctypes.c_uint32,
    b"l": ctypes.c_int64,
    b"L": ctypes.c_uint64,
    b"f": ctypes.c_float,
    b"g": ctypes.c_double,
}


def _at(pointer, c_type, i):
    return c_type.from_address(pointer + i * ctypes.sizeof(c_type)).value


def _bit(pointer, i):
    return bool(_at(pointer, ctypes.c_uint8, i // 8) >> i % 8 & 1)


def values_of(schema, array):
    """The rows of an array as Python values."""
    return [value_of(schema, array, i) for i in range(array.length)]


def value_of(schema, array, i):
    i += array.offset
    kind = schema.format
    if array.buffers[0] and not _bit(array.buffers[0], i):
        return None
    if kind in _VALUES:
        return _at(array.buffers[1], _VALUES[kind], i)
    if kind == b"b":
        return _bit(array.buffers[1], i)
    if kind in (b"Z", b"U"):
        begin, end = (_at(array.buffers[1], ctypes.c_int64, i + k) for k in (0, 1))
        value = ctypes.string_at(array.buffers[2] + begin, end - begin)
        return value.decode() if kind == b"U" else value
    if kind == b"+L":
        begin, end = (_at(array.buffers[1], ctypes.c_int64, i + k) for k in (0, 1))
    else:
        size = int(kind.removeprefix(b"+w:"))
        begin, end = i * size, (i + 1) * size
    child, items = schema.children[0].contents, array.children[0].contents
    return [value_of(child, items, k) for k in range(begin, end)]


class Stream:
    """A consumer of anything with __arrow_c_stream__."""

    def __init__(self, table):
        self._capsule = table.__arrow_c_stream__()
        pointer = pythonapi.PyCapsule_GetPointer(self._capsule, b"arrow_array_stream")
        self._struct = ArrowArrayStream.from_address(pointer)
        self.schema = ArrowSchema()
        assert self._struct.get_schema(self._struct, self.schema) == 0

    def columns(self):
        """The format of each column, by name."""
        children = (self.schema.children[i].contents for i in range(self.schema.n_children))
        return {child.name.decode(): child.format for child in children}

    def next(self):
        """The next array, which the caller must release; None at the end."""
        array = ArrowArray()
        code = self._struct.get_next(self._struct, array)
        if code != 0:
            message = self._struct.get_last_error(self._struct).decode()
            raise StreamError(code, message)
        return array if array.release else None

    def rows(self):
        """All rows that are left, as a dict of lists."""
        columns = {name: [] for name in self.columns()}
        while (array := self.next()) is not None:
            for i, name in enumerate(columns):
                column = array.children[i].contents
                assert column.length == array.length
                columns[name] += values_of(self.schema.children[i].contents, column)
            array.release(array)
        return columns

    def release(self):
        self._struct.release(self._struct)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.schema.release(self.schema)
        if self._struct.release:
            self.release()


class StreamError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Column:
    """An array to be exported: the fields of the C structs, with bytes for buffers."""

    def __init__(
        self,
        format,
        length,
        buffers=(),
        children=(),
        *,
        name="",
        offset=0,
        null_count=-1,
        dictionary=None,
    ):
        self.keep = []
        self.schema = ArrowSchema(format=format.encode(), name=name.encode(), flags=2)
        self.schema.release = _release_schema
        self.array = ArrowArray(length=length, null_count=null_count, offset=offset)
        self.array.release = _release_array
        # Copies of exact size, so that ASan sees a read past the end.
        copies = [None if b is None else ctypes.create_string_buffer(b, len(b)) for b in buffers]
        self.array.n_buffers = len(copies)
        self.array.buffers = (ctypes.c_void_p * len(copies))(
            *[None if c is None else ctypes.addressof(c) for c in copies]
        )
        self.keep += [copies, children, dictionary]
        for struct, attribute in ((self.schema, "schema"), (self.array, "array")):
            members = [ctypes.pointer(getattr(child, attribute)) for child in children]
            struct.n_children = len(members)
            struct.children = (ctypes.POINTER(type(struct)) * len(members))(*members)
            if dictionary is not None:
                struct.dictionary = ctypes.pointer(getattr(dictionary, attribute))

    def __arrow_c_array__(self, requested_schema=None):
        return (
            pythonapi.PyCapsule_New(ctypes.addressof(self.schema), b"arrow_schema", None),
            pythonapi.PyCapsule_New(ctypes.addressof(self.array), b"arrow_array", None),
        )


def table(*columns, length=None, offset=0, validity=None):
    """A record batch of Columns."""
    if length is None:
        length = columns[0].array.length if columns else 0
    return Column("+s", length, [validity], columns, offset=offset)


@ReleaseSchema
def _release_schema(schema):
    schema.contents.release = ReleaseSchema()


@ReleaseArray
def _release_array(array):
    array.contents.release = ReleaseArray()
