"""The stub file has every public name, with the parameters that the code has."""

import ast
import inspect
import pathlib

import weft

STUB = ast.parse(pathlib.Path(weft.__file__).with_suffix(".pyi").read_text())


def parameters(function):
    """Names of the parameters by kind, and which have a default."""
    if isinstance(function, ast.FunctionDef):
        arguments = function.args
        positional = [each.arg for each in arguments.posonlyargs + arguments.args]
        defaults = positional[len(positional) - len(arguments.defaults):]
        defaults += [each.arg for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None]
        stars = [each.arg for each in (arguments.vararg, arguments.kwarg) if each]
        return positional, [each.arg for each in arguments.kwonlyargs], stars, defaults
    known = inspect.signature(function).parameters.values()
    positional = [each.name for each in known if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return (positional, [each.name for each in known if each.kind is each.KEYWORD_ONLY],
            [each.name for each in known if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)],
            [each.name for each in known if each.default is not each.empty])


def test_functions_have_the_parameters_of_the_stub():
    checked = 0
    for item in STUB.body:
        if isinstance(item, ast.FunctionDef):
            assert parameters(item) == parameters(getattr(weft, item.name)), item.name
            checked += 1
        elif isinstance(item, ast.ClassDef):
            for method in item.body:
                if isinstance(method, ast.FunctionDef):
                    made = inspect.getattr_static(getattr(weft, item.name), method.name)
                    properties = [getattr(each, "id", "") for each in method.decorator_list]
                    if "property" in properties:
                        assert isinstance(made, property) or inspect.isdatadescriptor(made), (item.name, method.name)
                    elif inspect.isfunction(made) and "until weft" not in (made.__doc__ or ""):
                        assert parameters(method) == parameters(made), (item.name, method.name)
                        checked += 1
                    else:
                        assert callable(made) or isinstance(made, staticmethod), (item.name, method.name)
    assert checked > 40


def test_every_public_name_is_in_the_stub():
    there = {item.name for item in STUB.body if isinstance(item, (ast.FunctionDef, ast.ClassDef))}
    assert set(weft.__all__) <= there
    for name in ("Tensor", "Engine", "Plan", "Kernel"):
        members = next(item for item in STUB.body if isinstance(item, ast.ClassDef) and item.name == name).body
        told = {getattr(each, "name", None) or each.target.id for each in members if not isinstance(each, ast.Expr)}
        public = {each for each in dir(getattr(weft, name)) if not each.startswith("_")}
        assert public <= told | {"expression"}, (name, public - told)
