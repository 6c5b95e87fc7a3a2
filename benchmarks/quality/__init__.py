"""Options of a run measured on public data: the worst sentence, one side alone, facts said wrongly."""
