"""Judge a benchmark's variants: what is measured of their text, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from fairstats.benchmarks import Benchmark, MissingPolicy
from fairstats.vignettes.findings import findings_frame


def audit_findings(
    measures: pd.DataFrame,
    answers: pd.DataFrame | None = None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    return findings_frame(())
