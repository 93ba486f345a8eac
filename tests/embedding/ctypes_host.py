#!/usr/bin/env python3
"""ctypes_host.py LIBRARY HEADER DIRECTORY: Python calls libweft without a compiler. Prints nothing if all is well."""

import array
import ctypes
import json
import pathlib
import re
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
header = re.sub(r"/\*.*?\*/", "", pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"), flags=re.S)
TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
         "char*": ctypes.c_char_p, "void": None}
PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)


def declared(text):
    """The ctypes type of a declaration such as 'const uint64_t* extents'."""
    text = re.sub(r"\bconst\b", "", text)
    name = re.match(r"\s*(\w+)", text).group(1)
    stars = text.count("*")
    if name == "char" and stars == 1:
        return ctypes.c_char_p
    if stars == 0:
        return PROGRESS if name == "weft_progress_callback" else TYPES.get(name, ctypes.c_void_p)
    return ctypes.c_void_p


# Every function has the types of its prototype: plain types only, or this would not do.
prototypes = re.findall(r"^((?:const )?\w+\*?) (weft_\w+)\(([^;]*)\);", header, flags=re.M)
assert len(prototypes) > 60, prototypes
for result, name, parameters in prototypes:
    function = getattr(library, name)
    function.restype = declared(result)
    function.argtypes = [] if parameters == "void" else [declared(each) for each in parameters.split(",")]

OK, INPUT, UNSUPPORTED, INTERNAL, RESOURCE, CANCELLED = 0, 2, 3, 4, 5, 130
assert re.search(r"WEFT_INPUT = 2, WEFT_UNSUPPORTED = 3, WEFT_INTERNAL = 4, WEFT_RESOURCE = 5, WEFT_CANCELLED = 130", header)
COPY, BORROW = 0, 1


class WeftError(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def call(name, *arguments):
    """Calls what can fail."""
    error = ctypes.c_void_p()
    kind = getattr(library, name)(*arguments, ctypes.byref(error))
    if kind == OK:
        assert not error
        return
    message = library.weft_error_message(error).decode()
    assert library.weft_error_kind(error) == kind
    library.weft_error_free(error)
    raise WeftError(kind, message)


class Handle:
    """Made by the function of that name; freed with its type."""

    def __init__(self, kind, name, *arguments):
        self.kind = kind
        self.pointer = ctypes.c_void_p()
        call(name, *arguments, ctypes.byref(self.pointer))

    def __del__(self):
        getattr(library, f"weft_{self.kind}_free")(self.pointer)


def fails(kind, text, name, *arguments):
    try:
        Handle("tensor", name, *arguments)
    except WeftError as error:
        assert error.kind == kind and text in str(error), (error.kind, str(error))
        return
    raise AssertionError(f"{name} did not fail")


def address(values):
    return values.buffer_info()[0]


def evaluate(session, expression, operands=(), request=None):
    names = (ctypes.c_char_p * len(operands))(*[name.encode() for name in operands])
    return Handle("evaluation", "weft_session_evaluate", session.pointer, expression.encode(), len(operands),
                  names if operands else None, request.pointer if request else None)


def dense(engine, tensor, count):
    values = array.array("d", [0.0] * count)
    call("weft_tensor_to_dense", engine.pointer, tensor.pointer, address(values), count, None)
    return list(values)


def main():
    engine = Handle("engine", "weft_engine_create", None)
    session = Handle("session", "weft_session_create", engine.pointer)

    # [[1, 0, 2], [0, 0, 3]] as scipy.sparse.csr_matrix keeps it: 32-bit signed indices, borrowed.
    indptr, indices, data = array.array("i", [0, 2, 3]), array.array("i", [0, 2, 2]), array.array("d", [1, 2, 3])
    matrix = Handle("tensor", "weft_tensor_csr", engine.pointer, 0, 2, 3, 3, 32, address(indptr), address(indices), address(data), BORROW)
    assert library.weft_tensor_format(matrix.pointer) == b"ds:0,1" and library.weft_tensor_nnz(matrix.pointer) == 3
    vector = array.array("d", [1, 10, 100])
    shape = (ctypes.c_uint64 * 1)(3)
    x = Handle("tensor", "weft_tensor_dense", engine.pointer, 0, 1, shape, None, address(vector), COPY)
    call("weft_session_set", session.pointer, b"M", matrix.pointer)
    call("weft_session_set", session.pointer, b"x", x.pointer)
    for expression, operands in (("y(i) = M(i,j) * x(j)", ()), ("ij,j->i", ("M", "x"))):
        evaluation = evaluate(session, expression, operands)
        name = library.weft_evaluation_name(evaluation.pointer, 0)
        result = Handle("tensor", "weft_evaluation_result", evaluation.pointer, name)
        assert dense(engine, result, 2) == [201, 300]
        report = ctypes.c_char_p()
        call("weft_evaluation_report", evaluation.pointer, ctypes.byref(report))
        told = json.loads(report.value)
        assert told["operands"]["M"]["nnz"] == 3 and told["results"][name.decode()]["sum"] == 501 and len(told["run_ms"]) == 1

    # Several assignments, the first wanted too.
    request = Handle("request", "weft_request_create")
    call("weft_request_add_result", request.pointer, b"y")
    evaluation = evaluate(session, "y(i) = M(i,j) * x(j); s = y(i)", (), request)
    assert library.weft_evaluation_count(evaluation.pointer) == 2
    assert dense(engine, Handle("tensor", "weft_evaluation_result", evaluation.pointer, b"s"), 1) == [501]

    # Errors of each kind a host can cause.
    fails(INPUT, "not below", "weft_tensor_csr", engine.pointer, 0, 2, 2, 3, 32, address(indptr), address(indices), address(data), COPY)
    fails(INPUT, "'engine' is NULL", "weft_tensor_load", None, b"ones(3)", None)
    fails(INPUT, "not_there.tns", "weft_tensor_load", engine.pointer, b"not_there.tns", None)
    fails(UNSUPPORTED, "+", "weft_session_evaluate", session.pointer, b"s = x(i) + x(i)", 0, None, None)
    options = Handle("options", "weft_options_create")
    call("weft_options_set_memory_limit", options.pointer, 10000)
    limited = Handle("engine", "weft_engine_create", options.pointer)
    fails(RESOURCE, "10000", "weft_tensor_load", limited.pointer, b"ones(100x100)", None)

    # Reading for longer than a moment is told of: a tenth of a second of one core is some 40 MB of text.
    long_file = pathlib.Path(sys.argv[3]) / "long.tns"
    with open(long_file, "wb") as file:
        for _ in range(60):
            file.write(b"17 4 123 5.25\n" * 100000)
    options = Handle("options", "weft_options_create")
    told = []
    progress = PROGRESS(lambda context, what, fraction: told.append((what, fraction)))
    call("weft_options_set_progress", options.pointer, progress, None)
    call("weft_options_set_threads", options.pointer, 1)
    reader = Handle("engine", "weft_engine_create", options.pointer)
    read = Handle("tensor", "weft_tensor_load", reader.pointer, str(long_file).encode(), None)
    long_file.unlink()
    assert library.weft_tensor_nnz(read.pointer) == 1
    assert told and all(b"long.tns" in what and 0 <= fraction <= 1 for what, fraction in told), told

    # A long run is cancelled from another thread.
    cancellation = Handle("cancellation", "weft_cancellation_create")
    options = Handle("options", "weft_options_create")
    call("weft_options_set_cancellation", options.pointer, cancellation.pointer)
    cancellable = Handle("engine", "weft_engine_create", options.pointer)
    slow = Handle("session", "weft_session_create", cancellable.pointer)
    for name, spec in ((b"A", b"uniform(3000x3000,seed=1)"), (b"B", b"uniform(3000x3000,seed=2)")):
        tensor = Handle("tensor", "weft_tensor_load", cancellable.pointer, spec, None)
        call("weft_session_set", slow.pointer, name, tensor.pointer)
    timer = threading.Timer(0.3, library.weft_cancellation_cancel, (cancellation.pointer,))
    timer.start()
    fails(CANCELLED, "", "weft_session_evaluate", slow.pointer, b"C(i,j) = A(i,k) * B(k,j)", 0, None, None)
    timer.join()
    assert library.weft_cancellation_cancelled(cancellation.pointer) == 1


main()
