"""Writes mxnet.txt: MXNet 1.9.1's answers to calls whose inputs have other shapes than the samples' inputs.

    operator_shapes_test "[.samples]" | python make.py

Each input of each sample gets one extent of 1, of 0 and one larger, one axis more and one axis less; all other inputs stay.
MXNet's infer_shape gets all shapes. A call is refused if it throws, and if it infers another shape for an input than the
one given: binding such a symbol fails. Extents of 0 and arrays without axes exist in numpy mode alone, where operators of
that mode always run.
"""
import json
import multiprocessing
import os
import sys
import warnings

HEAD = """\
# MXNet 1.9.1's answers where one input of an operator has another shape; written by make.py.
# A call (operator, attributes, shapes of the inputs), then of each input: its number, the mode, SHAPE>ANSWER ...
# An answer: the shapes of the outputs, - for an error, ? where MXNet infers no shape, does not have the operator or crashes.
"""


def changed(shape):
    """The shapes instead of this one, the shape itself first."""
    all_shapes = [shape]
    for axis, extent in enumerate(shape):
        for other in (1, 0, extent + 1):
            all_shapes.append(shape[:axis] + [other] + shape[axis + 1:])
    all_shapes += [[1] + shape, shape + [2], shape[1:], shape[:-1]]
    return [s for i, s in enumerate(all_shapes) if s not in all_shapes[:i]]


def in_numpy_mode(subject, shapes):
    return subject["op"].startswith(("_np_", "_npi_", "_npx_")) or any(0 in s or not s for s in shapes)


def infer(subject, shapes, numpy):
    """The shapes of the outputs, "-" or "?"."""
    import mxnet as mx
    count = len(shapes)
    node = {"op": subject["op"], "name": "node", "attrs": subject["attrs"], "inputs": [[i, 0, 0] for i in range(count)]}
    if "subgraphs" in subject:
        node["subgraphs"] = subject["subgraphs"]
    variables = [{"op": "null", "name": "in%d" % i, "inputs": [],
                  "attrs": {"__shape__": str(tuple(shape)), "__dtype__": DTYPES[dtype]}}
                 for i, (shape, dtype) in enumerate(zip(shapes, subject["dtypes"]))]
    graph = {"nodes": variables + [node], "arg_nodes": list(range(count)), "heads": [[count, 0, 0]],
             "attrs": {"mxnet_version": ["int", 10901], "is_np_shape": ["int", int(numpy)]}}
    with mx.util.np_shape(numpy):
        try:
            symbol = mx.sym.load_json(json.dumps(graph)).get_internals()
        except mx.base.MXNetError:
            return "?"
        try:
            arguments, outputs, states = symbol.infer_shape()
        except mx.base.MXNetError:
            return "-"
        if arguments is None:
            return "?"
        given = {"in%d" % i: tuple(shape) for i, shape in enumerate(shapes)}
        names = symbol.list_arguments() + symbol.list_auxiliary_states()
        if any(given[name] != tuple(shape) for name, shape in zip(names, arguments + states)):
            return "-"
        return "|".join(map(extents, outputs[count:]))


DTYPES = {"float32": "0", "float64": "1", "float16": "2", "uint8": "3", "int32": "4", "int8": "5", "int64": "6", "bool": "7"}


def extents(shape):
    return "x".join(map(str, shape)) or "()"


def cases_of(subject):
    """(input, all shapes, numpy mode) of each case, mode by mode."""
    cases = []
    for i, shape in enumerate(subject["shapes"]):
        for other in changed(shape):
            shapes = subject["shapes"][:i] + [other] + subject["shapes"][i + 1:]
            if i == 0 or other != shape:
                cases.append((i, shapes, in_numpy_mode(subject, shapes)))
    return sorted(cases, key=lambda case: (case[0], case[2]))


def answer_from(subject, first, pipe):
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdout = sys.stderr
    for number, (_, shapes, numpy) in enumerate(cases_of(subject)):
        if number >= first:
            pipe.send(infer(subject, shapes, numpy))


def answers(subject):
    """The answers of all cases; "?" for one that ends the process."""
    found, count = [], len(cases_of(subject))
    while len(found) < count:
        reading, writing = multiprocessing.Pipe(False)
        process = multiprocessing.Process(target=answer_from, args=(subject, len(found), writing))
        process.start()
        writing.close()
        try:
            while reading.poll(60):
                found.append(reading.recv())
        except EOFError:
            pass
        process.kill()
        process.join()
        if len(found) < count:
            found.append("?")
    return found


def text_of(subject, found):
    lines, last = [subject["key"]], None
    for (i, shapes, numpy), answer in zip(cases_of(subject), found):
        place = " %d %s" % (i, "numpy" if numpy else "classic")
        if place != last:
            lines.append(place)
        lines[-1] += " %s>%s" % (extents(shapes[i]), answer)
        last = place
    return "\n".join(lines) + "\n"


def main():
    import mxnet
    assert mxnet.__version__ == "1.9.1", mxnet.__version__
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mxnet.txt")
    texts = [text_of(s, answers(s)) for s in map(json.loads, sys.stdin)]
    with open(path, "w") as file:
        file.write(HEAD + "".join(texts))


main()
