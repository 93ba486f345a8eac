"""Every public class, function, method and property has an example, which --doctest-modules runs."""

import inspect

import weft

NOT_YET = {"max", "min", "any", "all"}  # of tensors: they are UnsupportedError


def examples_missing(made):
    """Names without an example, of a class and what it has of its own."""
    members = {name: each for name, each in vars(made).items() if not name.startswith("_")} if inspect.isclass(made) else {}
    missing = [] if ">>>" in (made.__doc__ or "") else [made.__name__]
    for name, each in members.items():
        if (inspect.isfunction(each) or isinstance(each, property)) and name not in NOT_YET and ">>>" not in (each.__doc__ or ""):
            missing.append(f"{made.__name__}.{name}")
    return missing


def test_every_public_name_has_an_example():
    assert [name for each in weft.__all__ for name in examples_missing(getattr(weft, each))] == []


def test_modules_say_what_they_are_for():
    for module in (weft, *(each for each in vars(weft).values() if inspect.ismodule(each) and each.__name__.startswith("weft."))):
        assert module.__doc__, module.__name__
