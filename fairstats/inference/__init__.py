"""Tests, intervals, multiplicity and verdicts, all of them functions of counts."""
