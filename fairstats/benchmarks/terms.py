"""Terms of benchmark files and results: policies, families, reserved names."""

from __future__ import annotations

from typing import Literal, get_args

MissingPolicy = Literal["available", "complete", "incorrect", "bounds"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
#: Missing policy for comparisons of two models; the default uses pairs answered by both.
COMMON = "common"
ComparisonPolicy = Literal["common", "available", "complete", "incorrect", "bounds"]
COMPARISON_POLICIES: tuple[ComparisonPolicy, ...] = get_args(ComparisonPolicy)
Family = Literal["model", "board", "release"]
FAMILIES: tuple[Family, ...] = get_args(Family)

#: The attribute that compares the original vignette with the neutralized one.
BASELINE = "baseline"
NEUTRALIZED = "neutralized"
#: The strategy with which the others are compared.
PLAIN = "plain"
#: The attribute and group name for all demographic pairs of an item combined.
POOLED = "pooled"
POOLED_GROUPS = ("first", "second")
