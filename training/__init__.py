"""Recipes of the models that this project makes itself."""
