"""Constants of the cost model: weft calibrate writes them, plans are priced with them."""

import os

from harness import require, require_equal, require_in

PLAN = ["plan", "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "T=sparse(300x200x250,nnz=20000,seed=1)", "B=uniform(200x8,seed=2)",
        "C=uniform(250x8,seed=3)", "--json", "--no-cache"]


def constants(text):
    return dict(line.split() for line in text.splitlines() if line and not line.startswith("#"))


def case_calibrate_writes_what_plans_read(weft):
    run = weft("calibrate", "--output", "here")
    written = constants(weft.text("here"))
    require(len(written) > 10, f"constants in {weft.text('here')!r}")
    require_equal(float(written["threads"]), float(max(2, len(os.sched_getaffinity(0)))), "threads: the CPUs of this process")
    for name, value in written.items():
        require(float(value) >= 0, f"{name} is {value}")
    require_in("here", run.out, "the summary names the file")
    require(not weft.exists(".config"), "nothing is written where --output was not")
    shipped = weft(*PLAN).json["plan"]["cost_ns"]
    doubled = "".join(f"{name} {2 * float(value) if name.endswith('_step') else value}\n" for name, value in written.items())
    weft.write("doubled", doubled)
    costs = {name: weft(*PLAN, env={"WEFT_CALIBRATION": weft.path(name)}).json["plan"]["cost_ns"] for name in ("here", "doubled")}
    require(costs["doubled"] > costs["here"], f"dearer steps, dearer plans: {costs}")
    require_equal(weft(*PLAN).json["plan"]["cost_ns"], shipped, "cost with the constants that ship")


def case_calibrated_on_one_cpu_plans_are_for_two(weft):
    cpu = min(os.sched_getaffinity(0))
    process = weft.start("calibrate", "--output", "one", preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    _, err = process.communicate()
    require_equal(process.returncode, 0, f"exit status, with {err!r}")
    require_equal(float(constants(weft.text("one"))["threads"]), 2.0, "threads")


def cases_places(_):
    def place(environment, path):
        def case(weft):
            env = {name: value.replace("@", weft.directory) for name, value in environment.items()}
            os.makedirs(os.path.dirname(weft.path(path)), exist_ok=True)
            weft.write(path, "speed 3\n")
            weft.error(*PLAN[:-2], env=env, says=[f"{path}:1", "'speed'", "weft calibrate"])
        return case
    yield "HOME", place({"HOME": "@/home"}, "home/.config/weft/calibration")
    yield "XDG_CONFIG_HOME", place({"XDG_CONFIG_HOME": "@/config"}, "config/weft/calibration")
    yield "WEFT_CALIBRATION", place({"WEFT_CALIBRATION": "@/named", "XDG_CONFIG_HOME": "@/config"}, "named")


def case_named_and_missing(weft):
    weft.error(*PLAN[:-2], env={"WEFT_CALIBRATION": weft.path("absent")}, says=["absent", "weft calibrate"])


def case_another_calibration_is_another_plan(weft):
    weft("calibrate", "--output", "here")
    arguments = [argument for argument in PLAN if argument != "--no-cache"]
    named = {"WEFT_CALIBRATION": weft.path("here")}
    require_equal(weft(*arguments).json["cache"]["plan"], "miss", "first")
    require_equal(weft(*arguments).json["cache"]["plan"], "hit", "again")
    require_equal(weft(*arguments, env=named).json["cache"]["plan"], "miss", "with other constants")


def case_no_place_to_write(weft):
    weft.write("file", "")
    weft.error("calibrate", "--output", "file/calibration", says="file/calibration")
    require_equal(weft.text("file"), "", "the file in the way")
