"""Cases of the weft command: what a case may do, and how a failure says how to repeat it.

A case is a function of one argument, a Weft, in a module cases_*.py. It runs the command in a directory of its own and
raises Failure. Modules are written from the interface alone: no case knows anything about the sources.
"""

import json
import os
import shlex
import subprocess

PATIENCE = int(os.environ.get("WEFT_PATIENCE", "1"))  # times usual limits of time: a sanitized build takes longer
SECONDS = 60 * PATIENCE  # a command that takes longer hangs


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Failure(message)


def require_equal(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}: found {found!r}, wanted {wanted!r}")


def require_in(wanted, text, what):
    if wanted not in text:
        raise Failure(f"{what}: {wanted!r} is not in {text!r}")


class Run:
    """What one call of the command left behind."""

    def __init__(self, status, out, err):
        self.status = status
        self.out_bytes = out
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    @property
    def json(self):
        try:
            return json.loads(self.out, parse_constant=lambda word: Failure(f"{word} is no JSON"))
        except ValueError as error:
            raise Failure(f"standard output is no JSON ({error}): {self.out[:200]!r}") from None


class Weft:
    """The command, run in the case's directory with an environment of its own."""

    def __init__(self, command, directory, cache):
        self.command = command
        self.directory = directory
        self.cache = cache
        self.history = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def text(self, name):
        return self.read(name).decode()

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def environment(self, changes):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS") if name in os.environ}
        wanted = {"HOME": self.directory, "WEFT_CACHE_DIR": self.cache}
        wanted.update(changes or {})
        kept.update({name: value for name, value in wanted.items() if value is not None})
        return kept, wanted

    def start(self, *arguments, env=None, **options):
        environment, shown = self.environment(env)
        words = [f"{name}={shlex.quote(value)}" if value is not None else f"-u {name}" for name, value in shown.items()]
        self.history.append("env " + " ".join(sorted(words, key=lambda word: not word.startswith("-u"))) + " " +
                            " ".join(shlex.quote(word) for word in (self.command, *arguments)))
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([self.command, *arguments], cwd=self.directory, env=environment, **options)

    def __call__(self, *arguments, status=0, env=None, given=None):
        """Runs to the end and checks what holds of every call: its status, where errors are said, no file left over. `given`:
        bytes that come through a pipe on standard input."""
        options = {} if given is None else {"stdin": subprocess.PIPE}
        process = self.start(*[str(argument) for argument in arguments], env=env, **options)
        try:
            out, err = process.communicate(given, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"no end within {SECONDS} s") from None
        run = Run(process.returncode, out, err)
        if run.status != status:
            raise Failure(f"exit status {run.status}, wanted {status}: {run.err[-600:]!r}")
        if status in (2, 3, 4, 5) and arguments:
            require(run.err.startswith("error: "), f"standard error begins with 'error: ': {run.err[:200]!r}")
            if not {"--json", "--json="} & set(arguments):
                require_equal(run.out, "", "standard output of a failing command")
        left = [name for name in os.listdir(self.directory) if ".tmp" in name]
        require_equal(left, [], "temporary files left over")
        return run

    def error(self, *arguments, status=2, says=(), env=None, given=None):
        """A call that must fail, and what its message must contain."""
        run = self(*arguments, status=status, env=env, given=given)
        for word in [says] if isinstance(says, str) else says:
            require_in(word, run.err, "the message")
        return run


def pictured(run, expression, columns):
    """The error shows the expression indented by two, and a caret below every column concerned."""
    lines = run.err.splitlines()
    shown = "  " + expression
    require(shown in lines, f"the expression is shown as a line of {run.err!r}")
    carets = lines[lines.index(shown) + 1]
    require_equal([place for place, mark in enumerate(carets) if mark == "^"], [2 + column for column in columns],
                  f"columns of the carets in {run.err!r}")
    require(set(carets) <= {" ", "^"}, f"a line of carets: {carets!r}")
