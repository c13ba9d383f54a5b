"""Compares observations with references and names misconceptions; hidden from the kernels of a class."""
