"""Screening of answer sets: signs that answers were copied, shifted, forced or invented."""
