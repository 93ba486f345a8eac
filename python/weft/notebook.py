"""``%load_ext weft``: cells of index notation over a notebook's variables.

::

    %%weft -o y --time
    y(i) = M(i,j) * x(j)

evaluates the cell over the variables ``M`` and ``x``; ``%weft y(i) = M(i,j) * x(j)`` does so with one line. The options,
which stand before the text:

* ``-o NAMES``: results that become variables, such as ``-o S,t``; without it the last result is the cell's value
* ``--plan``: shows how it is computed, as a page, with measured times beside the estimated ones
* ``--time``: the first evaluation, and the median of as many as fit into half a second
* ``--format A:ds``: of an operand or result, may be repeated
* ``--tree TREE``, ``--threads N``, ``--calls N``: as of `weft.evaluate` and `weft.options`

Names are completed by the notebook. Errors show their place in the text, and no traceback.
"""

import contextlib
import difflib
import re
import shlex
import statistics
import time
import types

import _weft

from weft import _engines, evaluations
from weft.errors import Error, InputError

_FLAGS = ("--plan", "--time")
_VALUES = ("-o", "--format", "--tree", "--threads", "--calls")
_ENOUGH_SECONDS, _MOST_RUNS = 0.5, 1000
_MAGIC = re.compile(r"\s*%%?weft\b")


def load(shell):
    """Registers the magics and the completion of names."""
    shell.register_magic_function(_Magic(shell), "line_cell", "weft")
    completer = shell.Completer
    others = [each for each in completer.custom_matchers if not hasattr(each, "of_weft")]
    completer.custom_matchers = [*others, _completion(shell)]


class _Magic:
    __name__ = "weft"
    __doc__ = __doc__

    def __init__(self, shell):
        self._shell = shell

    def __call__(self, line, cell=None):
        try:
            return self._evaluated(line, cell)
        except (Error, TypeError, ValueError, KeyboardInterrupt) as error:
            message = _message(error)
            error._render_traceback_ = lambda: message
            raise

    def _evaluated(self, line, cell):
        options, text = parsed(line, cell)
        variables = self._shell.user_ns
        operands = {name: variables[name] for name in names_of_operands(text) if name in variables}
        stored = options["-o"]
        asked = {"format": options["--format"] or None, "tree": options["--tree"], "results": stored or None,
                 "calls": _number(options, "--calls", 1)}
        threads = _number(options, "--threads", None)
        with _engines.options(threads=threads) if threads else contextlib.nullcontext():
            try:
                return self._shown(options, text, operands, asked)
            except InputError as error:
                _add_near_name(error, variables)
                raise

    def _shown(self, options, text, operands, asked):
        from IPython.display import display

        if options["--plan"] and not options["--time"] and not asked["results"]:
            display(evaluations.plan(text, operands, run=True, **asked))
            return None
        begun = time.perf_counter()
        value = evaluations.evaluate(text, operands, **asked)
        first = time.perf_counter() - begun
        if options["--time"]:
            print(_timed(text, operands, asked, first))
        if options["--plan"]:
            display(evaluations.plan(text, operands, run=True, **asked))
        if not asked["results"]:
            return None if options["--plan"] else value
        self._shell.push(dict(zip(asked["results"], value)))
        return None


def parsed(line, cell=None):
    """Options and text of a magic.

    >>> parsed("-o y --time", "y(i) = M(i,j) * x(j)\\n")[1]
    'y(i) = M(i,j) * x(j)'
    >>> options, text = parsed("-o S,t --format S:ss S(i,j) = A(i,j); t = S(i,j)")
    >>> options["-o"], options["--format"], text
    (['S', 't'], ['S:ss'], 'S(i,j) = A(i,j); t = S(i,j)')
    """
    options = {"-o": [], "--format": [], "--plan": False, "--time": False, "--tree": None, "--threads": None, "--calls": None}
    rest = line.strip()
    while rest.startswith("-"):
        word, rest = _word(rest)
        name, equals, value = word.partition("=")
        if name not in _FLAGS + _VALUES:
            raise InputError(f"%%weft has no option {name}; it has {', '.join(_VALUES + _FLAGS)}")
        if name in _FLAGS:
            if equals:
                raise InputError(f"{name} takes no value")
            options[name] = True
            continue
        if not equals:
            value, rest = _word(rest)
        if not value:
            raise InputError(f"{name} needs a value")
        if name in ("-o", "--format"):
            options[name] += [each for each in re.split(r"\s*,\s*", value) if each] if name == "-o" else [value]
        else:
            options[name] = value
    if cell is not None and rest:
        raise InputError(f"after the options of %%weft: {rest!r}; the text stands below it, or in one line after %weft")
    text = (rest if cell is None else cell).strip("\n").rstrip()
    if "=" not in text:
        what = f"{text.strip()!r} assigns to nothing" if text.strip() else "no text to evaluate"
        raise InputError(f"{what}: index notation is wanted, such as y(i) = M(i,j) * x(j); weft.einsum takes subscripts")
    return options, text


def _word(rest):
    """The first word, which may be quoted, and what follows it."""
    found = re.match(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", rest)
    if not found:
        return "", rest
    try:
        words = shlex.split(found[0])
    except ValueError:
        words = [found[0]]
    return " ".join(words), rest[found.end():].strip()


_ASSIGNED = re.compile(r"(?:^|[;\n])\s*([A-Za-z_]\w*)\s*(?:\([^()]*\)|\[[^\[\]]*\])?\s*=(?!=)")


def names_of_operands(text):
    """Names that may be operands: those that stand outside of lists of indices; in order, without results of earlier lines.

    >>> names_of_operands("S(i,j) = a * M(i,k) * N[k,j]; t = S(i,j)")
    ['a', 'M', 'N']
    >>> names_of_operands("y(i) = i * (b + x(i))")
    ['i', 'b', 'x']
    >>> names_of_operands("X = ij,jk->ik A B")
    ['A', 'B']
    """
    text = re.sub(r"#[^\n]*", "", text)
    if evaluations.is_einsum(text):
        before = text.partition("->")[0]
        return list(dict.fromkeys(text.split()[-1 - before.count(","):]))
    starts = [*_ASSIGNED.finditer(text)]
    ends = [each.start() for each in starts[1:]] + [len(text)]
    results, names = set(), {}
    for start, end in zip(starts, ends):
        factors = re.sub(r"([A-Za-z_]\w*)\s*[(\[][^()\[\]]*[)\]]", r"\1", text[start.end():end])
        names.update((name, None) for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", factors) if name not in results)
        results.add(start[1])
    return list(names)


def _number(options, name, default):
    if options[name] is None:
        return default
    if not options[name].isdigit() or int(options[name]) < 1:
        raise InputError(f"{name} {options[name]}: a number from 1 on is wanted")
    return int(options[name])


def _timed(text, operands, asked, first):
    """Sentences about the first evaluation and the next ones."""
    times = []
    begun = time.perf_counter()
    while len(times) < _MOST_RUNS and (not times or time.perf_counter() - begun < _ENOUGH_SECONDS):
        start = time.perf_counter()
        evaluations.evaluate(text, operands, **asked)
        times.append(time.perf_counter() - start)
    runs = f"median of {len(times)} runs" if len(times) > 1 else "one more run"
    threads = _engines.current().threads
    return (f"{_seconds(statistics.median(times))}, {runs} on {threads} thread{'s' if threads > 1 else ''}; "
            f"the first took {_seconds(first)}")


def _seconds(seconds):
    """
    >>> _seconds(0.000113), _seconds(0.0294), _seconds(2.5)
    ('113 µs', '29.4 ms', '2.5 s')
    """
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def _message(error):
    """Lines instead of a traceback."""
    if isinstance(error, KeyboardInterrupt):
        return ["KeyboardInterrupt"]
    return [f"{type(error).__name__}: {error}"]


def _add_near_name(error, variables):
    """To an operand that is no variable, the variable that may be meant."""
    name = error.operand
    if not name or name in variables:
        return
    near = difflib.get_close_matches(name, [each for each in operand_names(variables)], 1, 0.5)
    if near:
        error.args = (f"{error.args[0]}\nthe notebook has {near[0]}", *error.args[1:])


def operand_names(variables):
    """Variables that can be operands: numbers, arrays, matrices, tensors. numpy has functions named shape and dtype itself."""
    return [name for name, value in variables.items() if not name.startswith("_") and not isinstance(value, (type, types.ModuleType)) and (
        isinstance(value, _weft.Tensor) or type(value) in (int, float) or hasattr(value, "shape") and hasattr(value, "dtype"))]


def _completion(shell):
    """Completes operands in the text of the magics, and their options; a matcher of IPython's completer."""
    def weft_names(text):
        line = shell.Completer.text_until_cursor
        if not _MAGIC.match(line):
            return []
        word = re.search(r"[-\w]*$", line)[0]
        if word.startswith("-"):  # IPython may take a part of the word for the text
            return [each[len(word) - len(text):] for each in _VALUES + _FLAGS if each.startswith(word)]
        before = text[:max(len(text) - len(word), 0)]
        return [before + each for each in sorted(operand_names(shell.user_ns)) if each.startswith(word)]

    weft_names.of_weft = True
    return weft_names
