"""Write the table of metrics of docs/estimates.md from their declarations: `make docs`."""

from __future__ import annotations

from pathlib import Path

from fairstats.metrics.registry import metrics_table

PAGE = Path(__file__).with_name("estimates.md")


def main() -> None:
    """Replace the table, from its head to the next empty line."""
    before, _, after = PAGE.read_text(encoding="utf-8").partition("| Figure | Definition |")
    if not after:
        raise SystemExit(f"{PAGE} has no table of metrics: it begins with | Figure | Definition |")
    _, _, rest = after.partition("\n\n")
    PAGE.write_text(f"{before}{metrics_table()}\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
