"""The prompt at a terminal: long output, other languages' habits, arithmetic, shell commands, interrupted lines."""

import os
import signal
import termios
import time

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
    # Neither listens to Ctrl-C itself; dash forgets one that comes right before it starts the last program.
    with start(weft, env={"TERM": "xterm", "PAGER": "head -n 1; (sleep 0.5; echo waiting) & sleep 60"}) as terminal:
        terminal.type(":help\r")
        terminal.until("waiting\n")
        terminal.type("\x03", editing=False)
        terminal.until("weft> ")
        require_in("6.0", terminal.say("2*3"), "Ctrl-C ends the pager, and nothing else")
    with start(weft, env={"TERM": "xterm", "PAGER": "cat | head -n 2"}) as terminal:
        require("roken pipe" not in terminal.say(":help"), "programs of the pager know of closed pipes")
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


def case_shell_commands_have_the_terminal_to_themselves(weft):
    with start(weft, env={"TERM": "xterm"}) as terminal:
        shown = terminal.say("!sleep 2.2; echo done")
        require_equal(shown, "done\n", "what is shown, and no time of weft's")
        require(b"Ctrl-C stops it" not in terminal.shown, f"no line of progress: {terminal.shown!r}")


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


def case_signals_give_the_terminal_back(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    for name, term in (("SIGTERM", "xterm"), ("SIGHUP", "xterm"), ("SIGQUIT", "dumb")):
        with start(weft, env={"TERM": term}) as terminal:
            terminal.type("A = one")
            terminal.until("A = one")
            require(not termios.tcgetattr(terminal.terminal)[3] & termios.ECHO, "keys are edited")
            os.kill(terminal.pid, getattr(signal, name))
            require_equal(terminal.end()[1], 130 if name == "SIGTERM" else -getattr(signal, name), f"exit status of {name}")
            modes = termios.tcgetattr(terminal.terminal)
            edited = termios.ICANON | termios.ECHO | termios.ISIG
            require(modes[0] & termios.ICRNL and modes[3] & edited == edited, f"modes of the terminal after {name}: {modes}")
            require_equal(b"\x1b[?2004l" in terminal.shown, term != "dumb", f"what {name} leaves: {terminal.shown!r}")


def case_characters_beyond_ascii_in_any_locale(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    weft.write("größe.tns", "1 2\n2 3\n")
    for locale in ("C", "POSIX", "C.UTF-8", "xx_XX.UTF-8"):
        with start(weft, env={"LC_ALL": locale}) as terminal:
            require_in("T: 2 s:0", terminal.say("T = größe.tns"), f"a name that is typed in the locale {locale}")


def case_keys(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    with start(weft, env={"TERM": "xterm"}) as terminal:
        require(b"bind" not in terminal.shown, f"libedit takes all of them: {terminal.shown!r}")
        for left, right in (("\x1b[1;5D", "\x1b[1;5C"), ("\x1b[1;3D", "\x1b[1;3C"), ("\x1bOd", "\x1bOc"), ("\x1b\x1b[D", "\x1b\x1b[C")):
            require_equal(terminal.say(f"20 + 30{left}4{left}{left}1{right}5"), "1635.0\n", f"words with {left!r} and {right!r}")
        for key in ("\x1b[3;5~", "\x1b[3;3~", "\x1b[3^"):
            require_equal(terminal.say(f"17 + 4\x01{key}3"), "7.0\n", f"{key!r} deletes a word")
        for key in ("\x1b[3~",):
            require_equal(terminal.say(f"17 + 4\x01{key}"), "11.0\n", f"{key!r} deletes a character")
        for home, end in (("\x1b[H", "\x1b[F"), ("\x1bOH", "\x1bOF"), ("\x1b[1~", "\x1b[4~"), ("\x1b[7~", "\x1b[8~")):
            require_equal(terminal.say(f"1 + 1{home}2{end}3"), "34.0\n", f"both ends with {home!r} and {end!r}")
        nothing = [f"\x1b[{number}~" for number in (2, 5, 6, 11, 15, 17, 24)] + ["\x1b[2;5~", "\x1b[5;5~", "\x1b[15;2~", "\x1b[1;5A", "\x1b[1;2D",
                   "\x1b[1;3B", "\x1b[1;5P", "\x1bOP", "\x1bOS", "\x1b[[A", "\x1b[[E", "\x1b[Z"]
        for key in nothing:
            require_equal(terminal.say(f"6{key}*7"), "42.0\n", f"{key!r} does nothing")


def case_resized_while_a_line_is_edited(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    numbers = "+".join(str(number) for number in range(10, 60))  # 149 columns, and 6 of the prompt
    with start(weft, env={"TERM": "xterm"}) as terminal:
        terminal.type(numbers)
        terminal.until("58+59")
        for columns, rows in ((160, 0), (60, 2), (50, 3)):
            terminal.resize(columns)
            terminal.until("58+59")
            begin = terminal.shown.find(b"\r\x1b[J")
            require(begin >= 0, f"the line is taken away: {terminal.shown!r}")
            require_equal(terminal.shown[:begin], f"\x1b[{rows}A".encode() if rows else b"", f"rows above the cursor in {columns} columns")
            drawn = terminal.shown[begin + 4:].replace(b"\r", b"").replace(b"\n", b"")
            require(drawn.startswith(b"weft> 10+11+12"), f"and drawn anew: {drawn!r}")
        require_equal(terminal.say("+1"), f"{sum(range(10, 60)) + 1}.0\n", "no character is lost")


def case_terminal_without_a_cursor_that_moves(weft):
    with start(weft, "--threads", "1", env={"TERM": "dumb"}) as terminal:
        require_in("error: no tensor is named x", terminal.say("x"), "an error")
        require(b"\x1b" not in terminal.shown, f"no colour: {terminal.shown!r}")
        terminal.say("A = uniform(3000x3000);")
        terminal.say(":set repeat 1000")
        terminal.type(":time B(i,k) = A(i,j) * A(j,k)\r")
        time.sleep(1.6)
        terminal.type("\x03", editing=False)
        require_in("interrupted", terminal.until("weft> "), "a run that takes some time")
        require(b"\x1b" not in terminal.shown and b"working" not in terminal.shown, f"no progress: {terminal.shown!r}")


def case_leaving_ends_the_line(weft):
    for arguments in ((), ("-q",)):
        with start(weft, *arguments) as terminal:
            terminal.type("\x04")
            shown, status = terminal.end()
            require_equal((shown[-1:], status), ("\n", 0), f"the prompt of the shell begins a line: {shown!r}")


def case_completion_of_names_with_blanks(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    os.mkdir(weft.path("dir ö"))
    weft.write("dir ö/a b.tns", "1 2\n2 3\n")
    weft.write("dir ö/s;t.weft", "6*7\n")
    with start(weft, env={"LC_ALL": "C.UTF-8"}) as terminal:
        require_equal(terminal.say(":source di\ts\t"), "42.0\n", "a script")
        require_equal(terminal.say(':source "di\ts\t'), "42.0\n", "a script whose name begins with a quote")
        require_in("f: 2 s:0", terminal.say("f = di\t\t"), "a file in a directory")
        require_in("g: 2 s:0", terminal.say('g = "dir ö/\t'), "a file in quotes")


def case_an_expression_that_failed_is_not_the_last(weft):
    with start(weft) as terminal:
        terminal.say("A = ones(3x2);")
        terminal.say("s = A(i,j);")
        require_in("error", terminal.say("t = A(i,j,k)"), "an error")
        require_equal(terminal.say(":tree"), "A\n", "the tree of what succeeded")


def pasted(text):
    """As a terminal sends it that was asked to mark what is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


def case_pasted_text(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    with start(weft, env={"TERM": "xterm"}) as terminal:
        terminal.say("big = 7;")
        require_in("b: 3 d:0 f64", terminal.say(pasted("b\t= ones(3)")), "a tab completes nothing")
        require(b"\x1b[?2004l" in terminal.shown and terminal.shown.endswith(b"weft> "), f"marks only while a line is edited: {terminal.shown!r}")
        for end in ("\r\n", "\r", "\n", "\r\r"):
            terminal.type(pasted(f"x = 2;{end}\ty(i) ={end}  b(i) * x;{end}\x07\x15y[0]*10{end}1+1"))
            shown = terminal.until("weft> 1+1")
            require_in("\n20.0\n", shown, f"statements with {end!r} at their ends")
            require_equal(shown.count("weft> "), 3, f"prompts: {shown!r}")
            require_equal(terminal.say(""), "2.0\n", "the last line waits for its end")
        require_equal(terminal.say("bi\t"), "7.0\n", "a tab that is typed completes")


def case_interrupt_drops_pasted_lines(weft):
    if not has_line_editor(weft):
        raise Skip("no line editor")
    with start(weft, "--threads", "1", env={"TERM": "xterm"}) as terminal:
        terminal.say("A = uniform(3000x3000);")
        terminal.say(":set repeat 1000")
        terminal.type(pasted(":time B(i,k) = A(i,j) * A(j,k)\n6*7\n"))
        terminal.until("A(j,k)\n")
        time.sleep(1.5)
        terminal.type("\x03", editing=False)
        require_in("interrupted", terminal.until("weft> "), "what is said")
        require_equal(terminal.say("1+1"), "2.0\n", "the line after it was not executed")
