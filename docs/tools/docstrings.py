"""Makes the docstrings of the package readable for mkdocstrings."""

import re

import griffe


class Docstrings(griffe.Extension):
    """In the stubs, parameters are written as `name` and constructors are `__new__`: the parser expects the bare name
    and `__init__`. Roles such as :class: are for another tool."""

    def on_object(self, *, obj: griffe.Object, **_) -> None:
        if obj.docstring:
            text = re.sub(r":\w+:(?=`)", "", obj.docstring.value)
            obj.docstring.value = re.sub(r"^( +)`(\*{0,2}\w+)`(?=[:,])", r"\1\2", text, flags=re.MULTILINE)

    def on_class(self, *, cls: griffe.Class, **_) -> None:
        new = cls.members.get("__new__")
        if isinstance(new, griffe.Function) and "__init__" not in cls.members:
            del cls.members["__new__"]
            new.name, new.returns = "__init__", None
            cls.set_member("__init__", new)
