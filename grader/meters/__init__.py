"""Instruments: they return numbers and judge nothing."""
