"""Numbers, dates and units of a text against those of its facts, without a model.

``words``       number words to values
``units``       a table of units with conversions
``dates``       dates and times of day in the usual formats
``quantities``  all of these in a text, in order
``support``     which of a text's quantities no fact has
"""
