"""The page of --html, and iterations counted in a run of its own."""

import html.parser
import os
import re

from harness import require, require_equal, require_in

VOID = {"meta", "br", "hr", "input", "img", "link"}
EXPRESSION = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)"
OPERANDS = ["T=sparse(30x20x25,nnz=200,seed=1)", "B=uniform(20x8,seed=2)", "C=uniform(25x8,seed=3)"]


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and keeps the texts and the cells of every table."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.tables = [], [], [], []
        self.feed(text)
        self.close()
        require_equal(self.open, [], "tags left open")

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        require(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}")
        self.open.pop()

    def handle_data(self, text):
        self.texts.append(text)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += text

    def column(self, name):
        """The cells of a column of the first table, of its rows of loops."""
        header, *rows = self.tables[0]
        place = header.index(name)
        return [row[place] for row in rows if row[0].startswith("for ")]


def is_self_contained(text, page):
    for word in ("http:", "https:", "//", "<script", "@import", "url("):
        require(word not in text.replace("<!DOCTYPE", ""), f"the page has {word!r}")
    for tag, attributes in page.tags:
        require(tag not in ("script", "link", "img", "iframe", "object"), f"the page has <{tag}>")
        for name in attributes:
            require(name not in ("src", "href") and not name.startswith("on"), f"the page has {name}=")


def case_page_of_a_plan(weft):
    run = weft("plan", EXPRESSION, *OPERANDS, "--html", "plan.html")
    require_in("loop nest", run.out, "the summary")
    text = weft.text("plan.html")
    page = Page(text)
    is_self_contained(text, page)
    require("prefers-color-scheme: dark" in text, "the page knows dark")
    require_in(EXPRESSION, "".join(page.texts), "the page")
    require("svg" in [tag for tag, _ in page.tags], "the tree is drawn")
    require("counted" not in page.tables[0][0], "a plan counts nothing")
    for part in ("Where the time goes", "Loop nest", "Contraction tree", "Why this plan", "Layouts", "Memory", "Phases"):
        require_in(part, "".join(page.texts), "the page")


def case_shares_are_of_one_whole(weft):
    """Conversions are part of it, on the strip, in the table and in the tree."""
    arguments = ["y(i) = A(i,j) * x(j)", "A=sparse(90x90,nnz=900,seed=1)", "x=ones(90)", "--format", "A:dia"]
    plan = weft("plan", *arguments, "--html", "plan.html").out
    require_in("converted", plan, "layouts")
    require_in("y d:0 f64  result, dense: any entry may be written", plan, "a result of which nothing was asked")
    require_in("y d:0 f64  result, requested", weft("plan", *arguments, "--format", "y:d").out, "one that was asked for")
    text = weft.text("plan.html")
    lead = re.findall(r"<b>([^<]* %)</b> of [^<]* is the loop over <b>(\w+)</b>", text)[0]
    page = Page(text)
    header, *rows = page.tables[0]
    told = [row[header.index("predicted, one thread")] for row in rows if row[0].startswith(f"for {lead[1]}")]
    require(told and all(time.endswith(f" {lead[0]}") for time in told), f"the share of the loop: {lead[0]} in the sentence, {told} in the table")
    strip = re.findall(r"</code> ([^<]* %) <span", text)
    tree = re.findall(r"class=\"small\"[^>]*>([^<]* %) ·", text)
    require_equal(tree, strip, "shares of products in the tree")
    require(all(share != "100 %" for share in tree), f"conversions take their part: {tree}")


def case_long_names_stay_on_the_card(weft):
    name = "a_name_" * 40
    weft("plan", f"y(i) = {name}(i)", f"{name}=ones(9)", "--html", "plan.html")
    text = weft.text("plan.html")
    require_in("<p class=\"lead\">", text, "the sentence")
    require(re.search(r"\.lead \{[^}]*overflow-wrap: anywhere", text), "the sentence that has the product is wrapped anywhere")


def case_counted_iterations_are_those_of_the_data(weft):
    # 6 entries in 3 rows; every row of 4.
    weft.write("M.mtx", "%%MatrixMarket matrix coordinate real general\n5 4 6\n1 1 1\n1 2 1\n3 1 1\n3 3 1\n3 4 1\n5 2 1\n")
    for threads in (1, 2):
        run = weft("run", "A(i,r) = M(i,j) * B(j,r)", "M=M.mtx", "B=ones(4x7)", "--html", "run.html", "--json", "--threads", threads,
                   "--format", "M:ss")
        loops = {loop["index"]: loop["counted"] for loop in run.json["explanation"]["loops"]}
        require_equal(loops, {"i": 3, "j": 6, "r": 42}, "counted iterations in the report")
        page = Page(weft.text("run.html"))
        require_equal(sorted(page.column("counted"), key=int), ["3", "6", "42"], "counted iterations on the page")
        is_self_contained(weft.text("run.html"), page)


def case_counting_leaves_the_result_alone(weft):
    weft("run", EXPRESSION, *OPERANDS, "--out", "A=plain.npy")
    report = weft("run", EXPRESSION, *OPERANDS, "--out", "A=counted.npy", "--count", "--repeat", 2, "--json").json
    require(weft.read("plain.npy") == weft.read("counted.npy"), "the same bytes")
    require_equal(len(report["run_ms"]), 2, "timed runs")
    require(all(loop["counted"] is not None for loop in report["explanation"]["loops"]), "every loop is counted")
    uncounted = weft("run", EXPRESSION, *OPERANDS, "--json").json
    require(all(loop["counted"] is None for loop in uncounted["explanation"]["loops"]), "nothing is counted unasked")


def cases_shapes_that_must_fit(_):
    chain = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak"
    for what, expression, operands in (
            ("ten factors", chain, [f"sparse(20x20,nnz=40,seed={n})" for n in range(10)]),
            ("a deep nest", "R(a,b,c,d,e,f) = T(a,b,c,d,e,f) * s", ["T=sparse(4x4x4x4x4x4,nnz=50)", "s=2"]),
            ("no loop", "a = s * t", ["s=2", "t=3"]),
            ("an empty tensor", "A(i) = M(i,j) * v(j)", ["M=sparse(5x6,nnz=0)", "v=ones(6)"]),
            ("an extent of 0", "A(i) = M(i,j) * v(j)", ["M=sparse(5x0,nnz=0)", "v=ones(0)"]),
            ("long names", "A_rather_long_name_of_a_result(first_index,r) = B_rather_long_name(first_index,summed_index) * C(summed_index,r)",
             ["B_rather_long_name=sparse(9x8,nnz=20)", "C=ones(8x3)"])):
        def one(weft, expression=expression, operands=operands):
            for command in ("plan", "run"):
                weft(command, expression, *operands, "--html", "page.html", "--json")
                text = weft.text("page.html")
                is_self_contained(text, Page(text))
                require("nan" not in text.lower().replace("dominan", ""), "no NaN on the page")
        yield what, one


def case_explanation_in_the_report(weft):
    report = weft("plan", EXPRESSION, *OPERANDS, "--json", "--memory-limit", "1G", "--tree", "(T * B * C)").json
    explained = report["explanation"]
    require(explained["loops"] and explained["layouts"] and explained["memory"], f"explanation {explained}")
    require_equal([constraint["name"] for constraint in explained["constraints"]], ["contraction tree", "memory limit of 1.07 GB"], "constraints")
    for loop in explained["loops"]:
        require(loop["iterations"] >= 0 and loop["ns"] >= 0 and loop["how"], f"loop {loop}")
    require({layout["name"] for layout in explained["layouts"]} >= {"T", "B", "C", "A"}, "layouts")
    require(all(layout["reason"] for layout in explained["layouts"]), "every layout has a reason")


def case_runner_up_is_a_schedule(weft):
    report = weft("plan", EXPRESSION, *OPERANDS, "--json").json
    other = report["explanation"]["runner_up"]
    require(other is not None and other["cost_ns"] >= report["plan"]["cost_ns"], f"runner-up {other}")
    weft.write("other.txt", other["schedule"])
    again = weft("plan", EXPRESSION, *OPERANDS, "--schedule", "other.txt", "--json").json
    require_equal(again["plan"]["cost_ns"], other["cost_ns"], "cost of the runner-up given back")


def case_page_that_cannot_be_written(weft):
    os.mkdir(weft.path("dir"))
    for place in ("dir", "absent/page.html"):
        for command in ("plan", "run"):
            weft.error(command, EXPRESSION, *OPERANDS, "--html", place, status=2, says=place)
    weft.error("plan", EXPRESSION, *OPERANDS, "--html", "", status=2)


def case_page_is_whole_or_absent(weft):
    weft.write("page.html", "mine")
    weft.error("run", "A(i) = M(i,j) * v(j)", "M=sparse(5x6,nnz=9)", "v=ones(7)", "--html", "page.html", status=2)
    require_equal(weft.text("page.html"), "mine", "the page of a failing run")
    weft("run", "A(i) = M(i,j) * v(j)", "M=sparse(5x6,nnz=9)", "v=ones(6)", "--html", "page.html", "--quiet")
    require(re.match(r"<!DOCTYPE html>\n<html", weft.text("page.html")), "the page replaces the file")
