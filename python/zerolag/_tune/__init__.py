# SPDX-License-Identifier: GPL-2.0-only
"""Tuning: looking for settings that reach what is wanted (docs/tuning.md).

    file ─ Tuning ─ search (Optuna, journal) ─ front ─ confirmation (Store) ─ Answer: table, SVG, commands
"""
