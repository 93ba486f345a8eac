"""The cache of plans and kernels on disk."""

import os
import stat
import time

from harness import PATIENCE, Skip, require, require_equal, require_in

ARGUMENTS = ["A(i) = M(i,j) * v(j)", "M=sparse(50x60,nnz=200)", "v=ones(60)", "--json"]


def kernel(weft, *arguments, env):
    return weft("run", *ARGUMENTS, *arguments, env=env).json["cache"]["kernel"]


def own(weft, name="own"):
    """An environment with a cache directory nobody else uses."""
    return {"WEFT_CACHE_DIR": weft.path(name)}


def files(directory):
    return [os.path.join(directory, name) for name in os.listdir(directory) if os.path.getsize(os.path.join(directory, name)) > 100]


def case_second_process_loads_from_disk(weft):
    require_equal([kernel(weft, env=own(weft)) for _ in range(3)], ["compiled", "disk", "disk"], "origin of the kernel")
    report = weft("run", *ARGUMENTS, env=own(weft)).json
    require_equal((report["phases"]["generate"], report["phases"]["emit"]), (0, 0), "times of code generation")


def case_second_process_finds_the_plan(weft):
    reports = [weft("run", *ARGUMENTS, env=own(weft)).json for _ in range(2)]
    require_equal([report["cache"]["plan"] for report in reports], ["miss", "hit"], "cache.plan")
    require_equal(reports[0]["plan"], reports[1]["plan"], "the plan")
    for report in reports:
        for nest in report["explanation"]["nests"]:
            require(nest.pop("measured_ms") > 0, "a time that was measured")
    require_equal(reports[0]["explanation"], reports[1]["explanation"], "its explanation")
    report = weft("run", *ARGUMENTS, "--no-cache", env=own(weft)).json
    require_equal(report["cache"]["plan"], "miss", "cache.plan without cache")
    require_in(" disk ", weft("plan", *ARGUMENTS[:3], "--verbose", env=own(weft)).err, "what --verbose says")


def cases_options_that_shape_plans(_):
    for what, more, wanted in (("calls", ["--calls", "5"], "miss"), ("a limit", ["--memory-limit", "1G"], "miss"), ("strict", ["--strict-fp"], "miss"),
                               ("a tree", ["--tree", "(M * v)"], None), ("a layout", ["--format", "M:ds"], "miss"), ("threads", ["--threads", "1"], "hit"),
                               ("other values", [], "hit")):
        def one(weft, more=more, wanted=wanted, what=what):
            weft("plan", *ARGUMENTS, env=own(weft))
            operands = [ARGUMENTS[0], "M=sparse(50x60,nnz=200)", "v=uniform(60,seed=8)" if what == "other values" else "v=ones(60)", "--json"]
            found = weft("plan", *operands, *more, env=own(weft)).json["cache"]["plan"]
            require(wanted is None or found == wanted, f"cache.plan is {found}, wanted {wanted}")
        yield what, one


def case_stored_plan_is_a_schedule(weft):
    env = own(weft)
    report = weft("plan", *ARGUMENTS, env=env).json
    plans = [path for path in files(weft.path("own")) if path.endswith(".plan")]
    require_equal(len(plans), 1, "stored plans")
    given = weft("plan", *ARGUMENTS, "--schedule", plans[0], env=env).json
    require_equal(given["plan"]["producer"], "user", "producer")
    require_equal(given["plan"]["schedule"], report["plan"]["schedule"], "the schedule given back")
    require_equal(given["plan"]["cost_ns"], report["plan"]["cost_ns"], "its cost")
    require_equal(weft("cache", "status", "--json", env=env).json["plans"], 1, "plans told by weft cache")


def case_damaged_plan_is_replaced(weft):
    env = own(weft)
    first = weft("plan", *ARGUMENTS, env=env).json
    path = [path for path in files(weft.path("own")) if path.endswith(".plan")][0]
    for change in (lambda text: text[:-20], lambda text: text.replace("cost_ns ", "cost_ns 1"), lambda text: text.replace("weft 0", "weft 9"), lambda _: ""):
        with open(path) as file:
            good = file.read()
        with open(path, "w") as file:
            file.write(change(good))
        run = weft("plan", *ARGUMENTS, "--verbose", env=env)
        require_equal(run.json["cache"]["plan"], "miss", "cache.plan")
        require_equal(run.json["plan"], first["plan"], "the plan")
        require_in("cache ", run.err, "what --verbose says")
        with open(path) as file:
            require_equal(file.read(), good, "the entry after it was replaced")


def case_no_cache(weft):
    kernel(weft, env=own(weft))
    require_equal(kernel(weft, "--no-cache", env=own(weft)), "compiled", "origin of the kernel")
    require_equal(kernel(weft, "--no-cache", env=own(weft, "other")), "compiled", "origin of the kernel")
    require(not weft.exists("other"), "nothing is stored")


def case_other_values_and_sizes_of_the_same_kernel(weft):
    weft("run", *ARGUMENTS, env=own(weft))
    report = weft("run", ARGUMENTS[0], "M=sparse(70x60,nnz=300,seed=9)", "v=uniform(60,seed=4)", "--json", env=own(weft)).json
    require_equal(report["cache"]["kernel"], "disk", "origin of the kernel")


def case_options_that_shape_code_are_in_the_key(weft):
    kernel(weft, env=own(weft))
    require_equal(kernel(weft, "--format", "M:ss:f32", env=own(weft)), "compiled", "origin with f32")


def case_same_result_from_cache(weft):
    weft("run", *ARGUMENTS[:3], "--out", "A=first.npy", env=own(weft))
    weft("run", *ARGUMENTS[:3], "--out", "A=second.npy", env=own(weft))
    require(weft.read("first.npy") == weft.read("second.npy"), "the same bytes")


def cases_precedence(_):
    for what, env, arguments, wanted in (
            ("option", {"WEFT_CACHE_DIR": "w", "XDG_CACHE_HOME": "x", "HOME": "h"}, ["--cache-dir", "c"], "c"),
            ("WEFT_CACHE_DIR", {"WEFT_CACHE_DIR": "w", "XDG_CACHE_HOME": "x", "HOME": "h"}, [], "w"),
            ("XDG_CACHE_HOME", {"WEFT_CACHE_DIR": None, "XDG_CACHE_HOME": "x", "HOME": "h"}, [], "x/weft"),
            ("HOME", {"WEFT_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": "h"}, [], "h/.cache/weft"),
            ("empty WEFT_CACHE_DIR", {"WEFT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "h"}, [], "h/.cache/weft")):
        def one(weft, env=env, arguments=arguments, wanted=wanted):
            for name in "cwxh":
                if name in "xh":
                    os.mkdir(weft.path(name))
            env = {name: weft.path(value) if value else value for name, value in env.items()}
            arguments = [weft.path(word) if word == "c" else word for word in arguments]
            require_equal(weft("cache", "path", *arguments, env=env).out.strip(), weft.path(wanted), "weft cache path")
            weft("run", *ARGUMENTS, *arguments, env=env)
            require_equal(stat.S_IMODE(os.stat(weft.path(wanted)).st_mode), 0o700, "mode of the directory")
            require(files(weft.path(wanted)), "a kernel is stored there")
            unused = [name for name in "cwxh" if name != wanted[0] and weft.exists(name) and os.listdir(weft.path(name))]
            require_equal(unused, [], "other directories that were written to")
        yield what, one


def case_no_directory_at_all(weft):
    env = {"WEFT_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": None}
    require_equal(kernel(weft, env=env), "compiled", "a run needs no cache")
    weft("cache", "path", status=2, env=env)


def case_directory_that_cannot_be_made(weft):
    weft.write("file", "")
    require_equal(kernel(weft, env={"WEFT_CACHE_DIR": weft.path("file/cache")}), "compiled", "origin of the kernel")


def cases_damaged(_):
    def cut(content):
        return content[:len(content) // 2]

    def flipped(place):
        def change(content):
            at = int(place * (len(content) - 1))
            return content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1:]
        return change

    for what, change in (("cut off", cut), ("empty", lambda _: b""), ("garbage", lambda content: b"\x5a" * len(content)), ("longer", lambda content: content + b"x"),
                         *((f"a bit at {place}", flipped(place)) for place in (0, 0.01, 0.1, 0.5, 0.9, 1))):
        def one(weft, change=change):
            env = own(weft)
            weft("run", *ARGUMENTS[:3], "--out", "A=first.npy", env=env)
            for path in files(weft.path("own")):
                with open(path, "rb") as file:
                    content = file.read()
                with open(path, "wb") as file:
                    file.write(change(content))
            run = weft("run", *ARGUMENTS, "--out", "A=second.npy", env=env)
            require_equal(run.json["cache"]["kernel"], "compiled", "a damaged entry is not used")
            require(weft.read("first.npy") == weft.read("second.npy"), "the same result")
            require_equal(kernel(weft, env=env), "disk", "the damaged entry was replaced")
        yield what, one


def case_status_and_clear(weft):
    env = own(weft)
    require_in("0", weft("cache", "status", env=env).out, "status of an empty cache")
    require(not weft.exists("own"), "asking makes no directory")
    weft("run", *ARGUMENTS, env=env)
    status = weft("cache", "status", env=env).out
    require_in(weft.path("own"), status, "status")
    report = weft("cache", "status", "--json", env=env).json
    require(report["entries"] >= 1 and report["bytes"] > 0 and report["path"] == weft.path("own"), f"status {report}")
    weft("cache", "clear", env=env)
    require_equal(weft("cache", "status", "--json", env=env).json["entries"], 0, "entries after clear")
    require_equal(files(weft.path("own")), [], "files after clear")
    require_equal(kernel(weft, env=env), "compiled", "origin after clear")


def case_clear_removes_nothing_else(weft):
    env = own(weft)
    weft("run", *ARGUMENTS, env=env)
    weft.write("own/notes.txt", "mine")
    weft("cache", "clear", env=env)
    require_equal(weft.text("own/notes.txt"), "mine", "a file of somebody else")


def case_clear_says_what_it_cannot_clear(weft):
    os.mkdir(weft.path("c"))
    os.chmod(weft.path("c"), 0o777)
    weft.error("cache", "clear", "--cache-dir", "c", says="others may write")
    weft.write("file", "")
    weft.error("cache", "clear", "--cache-dir", "file", "--json", says="cannot be cleared")


def case_clear_of_an_absent_cache(weft):
    weft("cache", "clear", env=own(weft))


def case_cache_dir_option_of_weft_cache(weft):
    weft("run", *ARGUMENTS, "--cache-dir", "c")
    require(weft("cache", "status", "--cache-dir", "c", "--json").json["entries"] >= 1, "entries")
    weft("cache", "clear", "--cache-dir", "c")
    require_equal(weft("cache", "status", "--cache-dir", "c", "--json").json["entries"], 0, "entries")


def case_two_processes_at_once(weft):
    processes = [weft.start("run", *ARGUMENTS, env=own(weft)) for _ in range(4)]
    for process in processes:
        out, err = process.communicate(timeout=60 * PATIENCE)
        require_equal(process.returncode, 0, f"exit status with {err!r}")
        require_in(b'"kernel"', out, "the report")
    require_equal(kernel(weft, env=own(weft)), "disk", "origin of the kernel afterwards")


def lines_about_the_cache(run):
    return [line for line in run.err.splitlines() if line.startswith("cache ")]


def cases_unusable_directories(_):
    def a_file(weft):
        weft.write("own", "")

    def writable_by_all(weft):
        os.mkdir(weft.path("own"))
        os.chmod(weft.path("own"), 0o777)

    def of_somebody_else(weft):
        if os.geteuid() != 0:
            raise Skip("only root can give a directory away")
        os.mkdir(weft.path("own"))
        os.chown(weft.path("own"), 65534, 65534)

    for what, make, reason in (("a file", a_file, "Not a directory"), ("writable by all", writable_by_all, "others may write"),
                               ("of somebody else", of_somebody_else, "another user")):
        def one(weft, make=make, reason=reason):
            make(weft)
            for _ in range(2):
                run = weft("run", *ARGUMENTS, "--verbose", env=own(weft))
                require_equal(run.json["cache"]["kernel"], "compiled", "origin of the kernel")
                lines = lines_about_the_cache(run)
                require_equal(len(lines), 1, f"lines about the cache: {lines}")
                require_in(reason, lines[0], "the line")
            asked = weft("run", *ARGUMENTS, "--cache-dir", own(weft)["WEFT_CACHE_DIR"])
            require_equal(asked.err.count("is not used: "), 1, f"notes about the directory that was asked for: {asked.err}")
            require_in(reason, asked.err, "the note")
            require_in(reason, weft("cache", "status", env=own(weft)).out, "weft cache status")
            require_in(reason, weft("cache", "status", "--json", env=own(weft)).json["refused"], "weft cache status --json")
        yield what, one


def case_no_directory_is_said(weft):
    env = {"WEFT_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": None}
    require_in("HOME", weft("run", *ARGUMENTS[:3], "--verbose", env=env).err, "what --verbose says")


def case_paranoid(weft):
    weft("run", *ARGUMENTS, env=own(weft))
    report = weft("run", *ARGUMENTS, "--paranoid", env=own(weft)).json
    require_equal(report["cache"], {"plan": "hit", "kernel": "disk"}, "what was found")
    require(report["phases"]["emit"] > 0, "code is generated for comparison")


def case_killed_at_any_time(weft):
    """Whatever moment a process dies at, the next one gives the right result, and the cache works."""
    env = own(weft)
    weft("run", *ARGUMENTS[:3], "--out", "A=first.npy", "--no-cache")
    for round_number in range(12):
        if round_number % 4 == 0:
            weft("cache", "clear", env=env)
        process = weft.start("run", *ARGUMENTS, env=env)
        time.sleep(0.004 * round_number)
        process.kill()
        process.communicate()
        weft("run", *ARGUMENTS[:3], "--out", "A=second.npy", env=env)
        require(weft.read("first.npy") == weft.read("second.npy"), "the same result")
        require_equal(kernel(weft, env=env), "disk", "origin of the kernel")
