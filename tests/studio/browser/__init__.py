"""Journeys through the studio in a real browser."""
