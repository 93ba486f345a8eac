"""Plans: how an expression is evaluated, as text, as figures, as a page."""

import json


class Plan:
    """How an expression is, or would be, evaluated. ``str()`` explains it; notebooks show it as a page.

    >>> import weft, numpy as np
    >>> plan = weft.plan("s = x(i) * x(i)", x=np.ones(3))
    >>> plan.tree
    '(x * x)'
    >>> print(plan.loops)  # doctest: +ELLIPSIS
    program s
      index  i
      input  x : f64 {dense}   access x[i]
    ...
    """

    def __init__(self, source):
        self._source = source  # an evaluation, or a kernel

    @property
    def report(self):
        """The report of ``weft --json`` as a dict: times in milliseconds, sizes in bytes.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> report = plan.report
        >>> report["expression"], report["predicted_ms"] > 0
        ('y(i) = M(i,j) * x(j)', True)
        """
        return json.loads(self._told("report"))

    @property
    def tree(self):
        """The contraction tree, which `weft.evaluate` takes as `tree=`.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> plan.tree
        '(M * x)'
        """
        return self.report["tree"]

    @property
    def schedule(self):
        """The schedule, which `weft.evaluate` takes as `schedule=`: tree, orders of loops, layouts, what is fused.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> again = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3), schedule=plan.schedule)
        >>> again.loops == plan.loops
        True
        """
        return self.report["plan"]["schedule"]

    @property
    def loops(self):
        """The loop nests, before machine code is made of them.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> plan.loops.splitlines()[0]
        'program y'
        """
        return self.report["plan"]["loops"]

    @property
    def llvm(self):
        """The code as LLVM IR, a text.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> "define" in plan.llvm
        True
        """
        return self._stage("llvm")

    @property
    def asm(self):
        """The code as assembly of this machine.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> "ret" in plan.asm
        True
        """
        return self._stage("asm")

    def html(self):
        """The page of ``weft --html``: one self-contained document, light or dark as the reader prefers.

        >>> import weft, numpy as np
        >>> plan = weft.plan("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> plan.html()[:15]
        '<!DOCTYPE html>'
        """
        return self._told("page")

    def _repr_html_(self):
        from weft import notebook_plan

        return notebook_plan.html(self)

    def _told(self, what):
        return getattr(self._source, what if hasattr(self._source, "explanation") else "_" + what)()

    def _stage(self, name):
        return getattr(self._source, "stage" if hasattr(self._source, "explanation") else "_stage")(name)

    def __str__(self):
        if hasattr(self._source, "explanation"):
            return self._source.explanation()
        report = self.report
        return f"{report['expression']}\ntree {report['tree']}\n{report['plan']['loops']}"

    def __repr__(self):
        report = self.report
        return f"<weft.Plan {report['expression']}: {report['tree']}, predicted {_time(report['predicted_ms'])}>"


def _time(milliseconds):
    """As every text of weft has it.

    >>> _time(0.000201), _time(0.00264), _time(29.44), _time(2500), _time(0.9996)
    ('201 ns', '2.64 us', '29.4 ms', '2.5 s', '1 ms')
    """
    for unit, factor in (("ns", 1e6), ("us", 1e3), ("ms", 1)):
        if milliseconds * factor < 999.5:
            return f"{milliseconds * factor:.3g} {unit}"
    return f"{milliseconds / 1000:.3g} s"
