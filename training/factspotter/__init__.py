"""A recipe for FactSpotter (Zhang, Balalau & Manolescu, Findings of EMNLP 2023); see the README one folder up."""
