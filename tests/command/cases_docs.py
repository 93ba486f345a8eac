"""Every command and snippet of README.md and docs/ runs; man pages and completions are what the command's help says. (The session of
README.md is in cases_repl.)"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from harness import PATIENCE, Skip, require, require_equal, require_in
from terminal import Terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is installed, built or run for long: its script or target is looked for.
BUILDS = re.compile(r"^(samples/quickstart\.sh|tests/(run|campaign|coverage)\.sh)\b")


def blocks(page, *languages):
    return [text for language, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8")) if language in languages]


def scratch(weft):
    """A directory with the samples, and the command on the PATH."""
    if not (ROOT / "samples/data").is_dir():
        raise Skip("no samples")
    shutil.copytree(ROOT / "samples", weft.path("samples"))
    environment, _ = weft.environment(None)
    return {**environment, "PATH": os.path.dirname(os.path.abspath(weft.command)) + os.pathsep + os.environ["PATH"]}


def cases_commands_run(_):
    for page in PAGES:
        if not blocks(page, "sh"):
            continue

        def one(weft, page=page):
            environment = scratch(weft)
            if "weft-bench" in "".join(blocks(page, "sh")) and not shutil.which("weft-bench", path=environment["PATH"]):
                raise Skip("weft-bench is not built")
            if "zstdcat" in "".join(blocks(page, "sh")) and not shutil.which("zstdcat"):
                environment["PATH"] = weft.directory + os.pathsep + environment["PATH"]
                weft.write("zstdcat", '#!/bin/sh\nweft convert "$1" -\n')
                os.chmod(weft.path("zstdcat"), 0o755)
            for line in "".join(blocks(page, "sh")).splitlines():
                done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=weft.directory, env=environment, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=100 * PATIENCE, check=False)
                require(done.returncode == 0 and "error:" not in done.stderr, f"{line}: status {done.returncode}, {done.stderr[:300]!r}")
        yield page, one


def case_scripts_that_are_named_are_there(_):
    named = 0
    for page in PAGES:
        for line in "".join(blocks(page, "", "sh")).splitlines():
            if BUILDS.match(line):
                named += 1
                script = ROOT / line.split()[0]
                require(os.access(script, os.X_OK), f"{page} names {script.name}, which can be run")
    require(named >= 2, "README.md names the quickstart and the tests")


def cases_snippets_compile(_):
    compilers = {"cpp": (["g++-12", "g++", "c++"], ["-std=c++23"]), "c": (["gcc", "cc"], ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"])}
    for language, (names, flags) in compilers.items():
        def one(weft, language=language, names=names, flags=flags):
            compiler = next((found for found in map(shutil.which, names) if found), None)
            if compiler is None:
                raise Skip(f"no compiler of {language}")
            checked = 0
            for page in PAGES:
                for number, text in enumerate(blocks(page, language)):
                    file = weft.write(f"snippet{number}.{language}", text)
                    done = subprocess.run([compiler, *flags, "-fsyntax-only", *(f"-I{ROOT / top / 'include'}" for top in ("runtime", "engine", "frontend")),
                                           weft.path(file)], capture_output=True, text=True, timeout=100 * PATIENCE, check=False)
                    require_equal((done.returncode, done.stderr), (0, ""), f"snippet {number + 1} in {language} of {page}")
                    checked += 1
            require(checked > 0, f"snippets in {language}")
        yield language, one


def case_links_lead_somewhere(_):
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
            if "://" not in target:
                require(((ROOT / page).parent / target).exists(), f"{page} links {target}")


def case_man_pages_and_completions_are_what_help_says(weft):
    done = subprocess.run([sys.executable, "-B", ROOT / "docs/commands.py", "--weft", weft.command, "--check"], capture_output=True, text=True, check=False)
    require_equal((done.returncode, done.stderr), (0, ""), "docs/commands.py --check")


def case_lines_of_the_table_can_be_measured(weft):
    """README.md names a problem of weft-bench for every line of its table."""
    bench = shutil.which("weft-bench", path=os.path.dirname(os.path.abspath(weft.command)))
    if not bench:
        raise Skip("weft-bench is not built")
    known = subprocess.run([bench, "--list"], capture_output=True, text=True, check=True).stdout
    table = re.search(r"^\| milliseconds.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    lines = table.splitlines()
    require_equal(len(lines), 8, "lines of the table")
    for line in lines:
        problem = re.search(r"`([\w/-]+)`[^|]*\|$", line).group(1)
        require(re.search(rf"^{re.escape(problem)}\s", known, re.MULTILINE), f"weft-bench knows {problem}")


def case_the_worked_example_of_the_planner_is_what_it_plans(weft):
    """engine/plan/README.md: its command, with --emit schedule too, prints the schedule and the loops that it shows."""
    drawn = re.findall(r"(?:^ {4}.*\n|^\n)+", (ROOT / "engine/plan/README.md").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [line for block in drawn for line in block.replace("\\\n", " ").splitlines()]
    command = next(line for line in lines if line.strip().startswith("weft plan"))
    arguments = shlex.split(command)[1:] + ["--no-cache"]
    explained, schedule = weft(*arguments).out, weft(*arguments, "--emit", "schedule").out
    numbers = [" ".join(line.split()) for line in explained.splitlines()]
    loops = [" ".join(line.split()) for line in lines if re.match(r" +for \w", line)]
    require_equal(len(loops), 5, "loops that are drawn")
    for line in loops:
        require(line in numbers, f"{line!r} in {explained!r}")
    begin = lines.index("    schedule")
    shown = [line[4:] for line in lines[begin:] if line.startswith("    ")]
    shown = shown[:next(number for number, line in enumerate(shown) if "parallel" in line) + 1]
    require_in("\n".join(shown), schedule, "the schedule")
    require_in("optimal: all", explained, "the proof")


def case_man_pages_are_alike(_):
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/man").glob("*.1")}
    require(len(pages) == 10, f"pages: {sorted(pages)}")
    for name, text in pages.items():
        require_in(".SH EXIT STATUS\n0 success, 2 wrong input", text, name)
        require("Exit status:" not in text, f"the statuses stand once in {name}")
        require_in("\n.nh\n", text, f"{name}: words to type are not hyphenated")


def case_bash_completes(_):
    """An expression in the place of a command means run."""
    if not shutil.which("bash"):
        raise Skip("no bash")
    script = f"""source {ROOT}/docs/completions/weft.bash
compopt() {{ :; }}
for line in "weft r" "weft 'ij->i' --exp" "weft plan --emit a" "weft cache s" "weft --vers" "weft --expl" "weft info --thr" "weft help cal" "weft compare --rep"; do
  eval "COMP_WORDS=($line)"; COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); _weft; echo "${{COMPREPLY[*]}}"
done"""
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False)
    require_equal((done.stdout.splitlines(), done.stderr), (["run repl", "--explain", "asm", "status", "--version", "--explain", "--threads", "calibrate", "--repeat"], ""),
                  "what bash completes")


def case_bash_completes_names_with_blanks(weft):
    """As bash gives the words, which it also cuts at '=', and which keep their quotes."""
    if not shutil.which("bash"):
        raise Skip("no bash")
    os.mkdir(weft.path("my dir"))
    for name in ("my dir/in ner.tns", "plain two.tns", "it's.tns", "loose.tns"):
        weft.write(name, "1 1 2\n")
    expected = {("info", "pl"): "plain two.tns", ("info", "my"): "my dir", ("info", "my\\ dir/"): "my dir/in ner.tns", ("info", '"my dir/in'): "my dir/in ner.tns",
                ("run", "--out", "'z=pl"): "z=plain two.tns", ("run", "ij->i", "T", "=", "pl"): "plain two.tns", ("info", "it"): "it's.tns",
                ("run", "--cache-dir", "=", "m"): "my dir", ("run", "--cache-dir", "m"): "my dir", ("run", "--emit", "=", "lo"): "loops",
                ("run", "--specialize", "=", "ba"): "baked", ("run", "--objective", "="): "time|workspace-order", ("run", "--emit", "loops", "=", "lo"): "loose.tns",
                ("run", "--json", "=", "lo"): "loose.tns"}
    script = f"source {shlex.quote(str(ROOT / 'docs/completions/weft.bash'))}\ncompopt() {{ :; }}\n"
    for words in expected:
        script += f"COMP_WORDS=(weft {' '.join(shlex.quote(word) for word in words)}); COMP_CWORD={len(words)}; _weft; (IFS='|'; echo \"${{COMPREPLY[*]}}\")\n"
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=weft.directory, capture_output=True, text=True, check=False)
    require_equal(done.stderr, "", "standard error")
    require_equal(dict(zip(expected, done.stdout.splitlines(), strict=True)), expected, "what bash completes")


# What becomes of the last word; none: nothing fits.
COMPLETED = {"weft rep": "repl", "weft run --spec": "--specialize", "weft run --specialize=ba": "--specialize=baked", "weft run --specialize ba": "baked",
             "weft run --emit=lo": "--emit=loops", "weft run --cache-dir=m": "--cache-dir=many/", "weft run T=lo": "T=loose.tns", "weft run --out=z=lo": "--out=z=loose.tns",
             "weft run -o z=lo": "z=loose.tns", "weft run --json=lo": "--json=loose.tns", "weft 'ij->i' lo": "loose.tns", "weft 'ij->i' --exp": "--explain",
             "weft --emit=lo": "--emit=loops", "weft --expl": "--explain", "weft --vers": "--version", "weft cache st": "status", "weft help cal": "calibrate", "weft info --thr": "--threads", "weft info lo": "loose.tns", "weft run --threads lo": None}


def case_zsh_completes(weft):
    """At a terminal, where a key writes the line that is there to a file."""
    if not shutil.which("zsh"):
        raise Skip("no zsh")
    weft.write("loose.tns", "1 1 2\n")
    os.mkdir(weft.path("many"))
    setup = (f"unsetopt beep; fpath=({shlex.quote(str(ROOT / 'docs/completions'))} $fpath); autoload -Uz compinit; compinit -u -D; "
             "tell() { print -r -- $BUFFER >>told; BUFFER=; }; zle -N tell; bindkey '^T' tell\n")
    with Terminal(weft, "-f", "-i", program=shutil.which("zsh"), columns=200) as terminal:
        terminal.type(setup, editing=False)
        for typed in COMPLETED:
            terminal.type(f"{typed}\t\x14", editing=False)
        terminal.type("exit\n", editing=False)
        terminal.end()
    last = [line.rstrip(" =").split(" ")[-1] for line in weft.text("told").splitlines()]
    expected = {typed: word or typed.split(" ")[-1] for typed, word in COMPLETED.items()}
    require_equal(dict(zip(expected, last, strict=True)), expected, "what zsh completes")


def case_fish_completes(weft):
    if not shutil.which("fish"):
        raise Skip("no fish")
    weft.write("loose.tns", "1 1 2\n")
    os.mkdir(weft.path("many"))
    lines = "".join(f"complete -C {shlex.quote(typed) if chr(39) not in typed else chr(34) + typed + chr(34)}; echo\n" for typed in COMPLETED)
    environment, _ = weft.environment(None)
    done = subprocess.run(["fish", "-N", "-c", f"source {ROOT}/docs/completions/weft.fish\n{lines}"], cwd=weft.directory, env=environment,
                          capture_output=True, text=True, check=False)
    require_equal(done.stderr, "", "standard error")
    found = [answer.split("\t")[0].strip() or None for answer in done.stdout.removesuffix("\n").split("\n\n")]
    require_equal(dict(zip(COMPLETED, found, strict=True)), COMPLETED, "what fish completes")


def case_the_first_page_is_short(_):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    require(len(text.splitlines()) < 150, "README.md has fewer than 150 lines")
    for script in ("samples/quickstart.sh", "tests/run.sh"):
        require_in(script, text, "README.md")


def case_the_quickstart(weft):
    """In the build folder of the command under test, if that is the one the script builds into."""
    if os.path.realpath(weft.command) != os.path.realpath(ROOT / "build/bin/weft") or not (ROOT / "build/bin/weft-bench").exists():
        raise Skip("another build folder")
    environment, _ = weft.environment(None)
    done = subprocess.run([ROOT / "samples/quickstart.sh"], env={**os.environ, **environment}, capture_output=True, text=True, timeout=600 * PATIENCE, check=False)
    require_equal((done.returncode, done.stderr), (0, ""), "the quickstart")
    require(re.search(r"^ +[0-9.]+ ms  as weft plans it", done.stdout, re.MULTILINE), f"what it computed: {done.stdout[-900:]!r}")
    following = [line.strip() for line in done.stdout.split("Next:")[1].splitlines() if "build/bin/weft " in line]
    require_equal(len(following), 5, "things to try")
    weft("convert", "sparse(30x20x10,nnz=200,seed=1)", "own.tns")
    for line in following[3:]:
        own = line.replace("FILE", weft.path("own.tns")).replace("Jx", "20x").replace("Kx", "10x").replace("A.npy", weft.path("A.npy"))
        again = subprocess.run(["bash", "-c", own], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100 * PATIENCE, check=False)
        require_equal((again.returncode, again.stderr), (0, ""), own)
    require(weft.exists("A.npy"), "the MTTKRP of a user's own file")
    for line in following[:2]:
        again = subprocess.run(["bash", "-c", line], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100 * PATIENCE, check=False)
        require_equal((again.returncode, again.stderr), (0, ""), line)
