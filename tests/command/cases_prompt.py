"""The prompt at a terminal: long output, other languages' habits, arithmetic, shell commands, interrupted lines."""

from cases_repl import has_line_editor, start
from harness import Skip, require, require_equal, require_in


def case_long_output_goes_through_the_pager(weft):
    with start(weft, env={"TERM": "xterm", "PAGER": "sed s/^/paged:/"}) as terminal:
        shown = terminal.say(":help")
        require(shown.count("paged:") > 20, f"the help is longer than 30 rows: {shown[:300]!r}")
        require("paged:" not in terminal.say("2*3"), "what fits is printed as it is")
    with start(weft, env={"TERM": "xterm", "PAGER": "head -n 2"}) as terminal:
        require(len(terminal.say(":help").splitlines()) < 6, "a pager that is left early")
        require_in("6.0", terminal.say("2*3"), "the session goes on")
    with start(weft, env={"TERM": "xterm", "PAGER": "nosuchpager 2>/dev/null"}) as terminal:
        require_in(":plan", terminal.say(":help"), "without a pager the text itself")
    with start(weft, env={"TERM": "xterm", "PAGER": ""}) as terminal:
        require_in(":plan", terminal.say(":help"), "no pager is wanted")


def case_habits(weft):
    with start(weft) as terminal:
        terminal.say("A = ones(3x2);")
        require_in("error: a tensor is written with its indices: y(i,j) = A(i,j) * 2", terminal.say("y = A * 2"), "a product without indices")
        require_in("error: A has the extents 3x2", terminal.say("A.shape"), "a member")
        require_in("not supported", terminal.say("exp(A(i,j))"), "a function")
        require_equal(terminal.say("A[0,1]*3 + 1"), "4.0\n", "arithmetic")


def case_shell_commands(weft):
    with start(weft) as terminal:
        require_in("hello", terminal.say("!echo hello"), "its output")
        require_in("exit status 3", terminal.say("!exit 3"), "its exit status")
        shown = terminal.say(":history 2")
        require_in("!exit 3", shown, "what was typed")
        require("!echo" not in shown, f"two lines of history, the last of which is the question: {shown!r}")


def case_interrupted_lines_leave_a_clean_screen(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    long = "A(i,k) = B(i,j) * C(j,k) * D(k,l) * E(l,m) * F(m,n) * G(n,o) * H(o,p) * I(p,q) * J(q,r)"
    with start(weft) as terminal:
        for typed in ("A = one", "A = ones(3x2)" + "\x1b[D" * 5, long + long):
            terminal.type(typed)
            terminal.type("\x03")
            shown = terminal.until("weft> ")
            require(shown.endswith("\nweft> "), f"the next prompt begins a line: {shown[-80:]!r}")
        require_equal(terminal.say("2*3"), "6.0\n", "the session goes on")


def case_an_expression_that_failed_is_not_the_last(weft):
    with start(weft) as terminal:
        terminal.say("A = ones(3x2);")
        terminal.say("s = A(i,j);")
        require_in("error", terminal.say("t = A(i,j,k)"), "an error")
        require_equal(terminal.say(":tree"), "A\n", "the tree of what succeeded")
