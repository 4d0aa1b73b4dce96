"""Write the API page from the docstrings: `make docs`, then open docs/api/fairstats.html."""

from __future__ import annotations

from pathlib import Path

import pdoc

import fairstats

OUT = Path(__file__).with_name("api")


def main() -> None:
    """One page of all public names, with no network to view it."""
    # The names are imported when they are first used: pdoc has to find them there.
    for name in fairstats.__all__:
        setattr(fairstats, name, getattr(fairstats, name))
    pdoc.render.configure(docformat="numpy", math=False, show_source=False)
    pdoc.pdoc("fairstats", output_directory=OUT)
    print(OUT / "fairstats.html")


if __name__ == "__main__":
    main()
