"""The words of benchmark files and of their figures: policies, families, names with a meaning."""

from __future__ import annotations

from typing import Literal, get_args

MissingPolicy = Literal["available", "complete", "incorrect", "bounds"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
#: How comparisons of two models treat missing answers; by default by the pairs both answered.
COMMON = "common"
ComparisonPolicy = Literal["common", "available", "complete", "incorrect", "bounds"]
COMPARISON_POLICIES: tuple[ComparisonPolicy, ...] = get_args(ComparisonPolicy)
Family = Literal["model", "board", "release"]
FAMILIES: tuple[Family, ...] = get_args(Family)

#: The attribute that compares the original vignette with the neutralized one.
BASELINE = "baseline"
NEUTRALIZED = "neutralized"
#: The strategy that the others are compared with.
PLAIN = "plain"
#: What stands for the attribute and the groups of all demographic pairs of an item together.
POOLED = "pooled"
POOLED_GROUPS = ("privileged", "unprivileged")
