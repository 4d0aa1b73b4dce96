"""Tests, intervals, multiplicity and verdicts, all as functions of counts."""
