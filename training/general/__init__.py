"""The recipe of the embedded model, for facts and texts of any domain."""
