"""Describe the columns of a table that hold answers by the options of an import."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairstats._lib.problems import first_of, input_error
from fairstats.benchmarks.answer_columns import (
    ATTRIBUTES,
    MODELS,
    SIGN,
    Column,
    attributes_of,
    baseline_variants,
)
from fairstats.benchmarks.declaration import BASELINE

#: Words for a prompt, alone or after a model's name.
_PROMPT = (
    r"(?:plain|direct|standard|default|cot|chain[\W_]?of[\W_]?thoughts?|role|aware|mix|mitigated"
    r"|(?:no|with|without)[\W_]?rag|rag|(?:zero|one|few|\d+)[\W_]?shot(?:[\W_]?cot)?)"
    r"(?:[\W_]?prompt)?"
)
_PROMPTED = re.compile(rf"(?i)(?:(?P<model>.+?)(?P<mark>{SIGN}))?(?P<strategy>{_PROMPT})")
#: Samples and settings, alone or next to a model's name, which are not models.
_SAMPLE = r"(?P<word>(?:run|sample|rep(?:eat)?|trial|iter(?:ation)?|seed)[\W_]?)\d+"
_SETTING = r"(?P<word>(?:prompt|temp(?:erature)?)[\W_]?(?:[\d.]+|[a-z]))"
_NO_MODELS = {
    what: re.compile(rf"(?i)(?:.+?(?P<before>{SIGN}))?{word}(?:(?P<after>{SIGN}).+)?")
    for what, word in (("samples", _SAMPLE), ("prompts", _SETTING))
}


@dataclass(frozen=True)
class Grid:
    """The columns that hold answers, and the options that describe them.

    Parameters
    ----------
    columns : list of Column
        The columns.
    options : tuple of str
        The options (``--wide``).
    attribute : str
        The attribute of the groups; empty if the options name it.
    crossed : tuple of str
        The two attributes that it crosses; empty for most.
    models : bool
        Whether the names hold models.
    """

    columns: list[Column]
    options: tuple[str, ...]
    attribute: str
    crossed: tuple[str, ...]
    models: bool


def describe_columns(columns: Sequence[Column], others: Sequence[str], source: str) -> Grid:
    """Return the options that describe these columns, and none of the others.

    Raises
    ------
    InputError
        If the names vary both before and after the group.

    Examples
    --------
    >>> columns = [Column("answer_", "male", ""), Column("answer_", "female", "")]
    >>> describe_columns(columns, ["answer_date"], "a.csv").options
    ('answer_{group:male|female}',)
    """
    grid, models = _described(columns, others, source)
    _ask_about_models(models, grid, others, source)
    return grid


def _described(
    columns: Sequence[Column], others: Sequence[str], source: str
) -> tuple[Grid, Sequence[str]]:
    """Return the options that describe these columns, and the names of their models."""
    frames, group = _around(columns)
    groups = list(dict.fromkeys(column.group for column in columns))
    before, after, names = _frame(list(dict.fromkeys(frames)), source)
    models = names.get("model", [])
    if group != "{group}":
        template = _template(before + group + after, names, columns, others)
        return Grid(list(columns), (template,), "", (), bool(models)), models
    variants = baseline_variants(groups)
    attributes = {g: (BASELINE,) if g in variants else attributes_of(g) for g in groups}
    kinds = list(dict.fromkeys(kind for kind in attributes.values() if any(kind)))
    varied = [kind for kind in kinds if kind != (BASELINE,)]
    several = [kind for kind in varied if sum(kind == own for own in attributes.values()) > 1]
    if len(varied) > 1 and several == varied and all(len(kind) == 1 for kind in varied):
        own = [c for c in columns if any(attributes[c.group])]
        named = {c.group: f"{variants.get(c.group, c.group)}={before}{c.group}{after}" for c in own}
        options = tuple(
            f"{kind}:" + ",".join(named[g] for g, of in attributes.items() if of == (kind,))
            for (kind,) in kinds
        )
        return Grid(own, options, "", (), bool(models)), models
    odd = {name: variant for name, variant in variants.items() if name != variant}
    own = [column for column in columns if column.group not in odd]
    others = [*others, *(column.name for column in columns if column.group in odd)]
    template = _template(before + group + after, names, own, others)
    options = (template, *(f"{odd[name]}={before}{name}{after}" for name in odd))
    crossed = varied[0] if len(varied) == 1 and len(varied[0]) == 2 else ()
    attribute = "_".join(varied[0]) if len(varied) == 1 else "group"
    return Grid(list(columns), options, attribute, crossed, bool(models)), models


def _ask_about_models(
    models: Sequence[str], grid: Grid, others: Iterable[str], source: str
) -> None:
    """Refuse names of models that are probably samples, prompts or other columns of the models."""
    for what, pattern in _NO_MODELS.items():
        cut = [one for one in map(pattern.fullmatch, models) if one]
        cut = [one for one in cut if not (one["before"] and one["after"])]
        words = "|".join(dict.fromkeys(one["word"] for one in cut))
        forms = {
            "{model}" * bool(one["before"])
            + (one["before"] or "")
            + (f"{one['word']}{{sample}}" if what == "samples" else f"{{strategy:{words}}}")
            + (one["after"] or "")
            + "{model}" * bool(one["after"])
            for one in cut
        }
        if len(cut) < len(models) or len(forms) != 1:
            continue
        options = [min(forms).join(re.split(r"\{model(?::[^}]*)?\}", one)) for one in grid.options]
        message = f"{first_of(models)} in names of columns may be {what}, not models"
        remedy = f"give {_given(options)} for {what}, or {_given(grid.options)} for models"
        raise input_error(source, message, remedy)
    first = [m for m in models if not any(re.match(re.escape(o) + SIGN, m) for o in models)]
    more = [{m[len(of) :] for m in models if re.match(re.escape(of) + SIGN, m)} for of in first]
    if len(first) > 1 and more[0] and all(one == more[0] for one in more):
        of_more = [name for name in models if name not in first]
        odd = [c for c in grid.columns if any(name in part for part in c.frame for name in of_more)]
        names = [column.name for column in odd]
        rest = [column for column in grid.columns if column not in odd]
        less = _described(rest, [*others, *names], source)[0]
        message = f"the columns {first_of(names, 8)} may be of more models, or of another question"
        remedy = f"give {_given(grid.options)} if they are of models, or {_given(less.options)} to "
        raise input_error(source, message, remedy + "leave them out")


def _given(options: Iterable[str]) -> str:
    return " ".join(f'--wide "{one}"' for one in options)


def _around(columns: Sequence[Column]) -> tuple[list[tuple[str, str]], str]:
    """Return the texts around each group, and its template; with the attribute that all name."""
    word = "|".join(ATTRIBUTES)
    cut = [re.fullmatch(rf"(?i)(|.*[\W_])(?:{word})({SIGN})", one.before) for one in columns]
    # The groups of a crossing, and the original, are of no attribute alone.
    of_one = all(len(of) < 2 and of != ("",) for of in (attributes_of(c.group) for c in columns))
    if of_one and len({one and one[2] for one in cut}) == 1 and cut[0]:
        frames = [(one[1], c.after) for one, c in zip(cut, columns, strict=True) if one]
        return frames, f"{{attribute}}{cut[0][2]}{{group}}"
    return [column.frame for column in columns], "{group}"


def _frame(frames: Sequence[tuple[str, str]], source: str) -> tuple[str, str, dict[str, list[str]]]:
    """Return the templates of the text before and after a group, and the names in them."""
    befores, afters = (list(dict.fromkeys(side)) for side in zip(*frames, strict=True))
    if len(befores) > 1 and len(afters) > 1:
        message = f"the columns vary before and after the group: {first_of(befores)} and "
        message += first_of(afters)
        remedy = 'give a template such as --wide "{model}_{group}_answer"'
        raise input_error(source, message, remedy)
    sides: list[str] = []
    names: dict[str, list[str]] = {}
    for side in (befores, afters):
        one_model = len(frames) == 1 and len(side[0]) > 1 and MODELS.search(side[0])
        if len(side) > 1 and not all(re.search(r"[^\W_]", text) for text in side):
            named = first_of([f"{one}{{group}}{other}" for one, other in frames])
            message = f"the columns {named} differ by words that one of them lacks"
            raise input_error(source, message, "name the model or the prompt in each of them")
        if len(side) > 1 or (one_model and not names):
            template, names = _answer_sets(side)
            sides.append(template)
        else:
            sides.append(side[0])
    return sides[0], sides[1], names


def _answer_sets(texts: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """Return the template of the names of models, prompts or both, and these names."""
    lead, sets, end = _parted(texts)
    cut = [_PROMPTED.fullmatch(one) for one in sets]
    if len({one and one["mark"] for one in cut}) > 1 or None in cut:
        return f"{lead}{{model}}{end}", {"model": sets}
    names = {
        part: list(dict.fromkeys(one[part] for one in cut if one and one[part]))
        for part in ("model", "strategy")
    }
    names = {part: of for part, of in names.items() if of}
    mark = (cut[0] and cut[0]["mark"]) or ""
    return lead + mark.join(f"{{{part}}}" for part in names) + end, names


def _parted(texts: Sequence[str]) -> tuple[str, list[str], str]:
    """Return what texts begin and end with in common, up to a sign, and the rest of each."""
    signs = [re.match(r"[\W_]*", texts[0])[0], re.search(r"[\W_]*$", texts[0])[0]]  # type: ignore[index]
    lead = signs[0] if all(text.startswith(signs[0]) for text in texts) else ""
    end = signs[1] if all(text.endswith(signs[1]) for text in texts) else ""
    return lead, [text[len(lead) : len(text) - len(end)] for text in texts], end


def _template(
    text: str,
    names: Mapping[str, Sequence[str]],
    columns: Sequence[Column],
    others: Iterable[str],
) -> str:
    """Return the shortest template that no other column fits, and that cuts names as these are."""
    others = list(others)
    of = {**names, "attribute": (), "group": list(dict.fromkeys(c.group for c in columns))}
    # Words for prompts are always listed: without them, it is open where a model's name ends.
    for limited in (("strategy",), ("strategy", "group"), ("strategy", "group", "model")):
        pattern, template = re.escape(text), text
        for name, values in of.items():
            fits = ".+?" if name == "group" else ".+"
            if name in limited:
                template = template.replace(f"{{{name}}}", f"{{{name}:{'|'.join(values)}}}")
                fits = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{fits})")
        cuts = [(re.fullmatch(pattern, column.name), column.group) for column in columns]
        kept = all(cut is not None and cut["group"] == group for cut, group in cuts)
        if kept and not any(re.fullmatch(pattern, other) for other in others):
            break
    return template
