"""Tests of what is done with a checkout."""
