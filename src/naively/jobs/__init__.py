"""The jobs of the command line, from files to files.

select: read -> count -> part into training and test -> select and train -> test -> write
predict: read -> count the features of the model -> answer -> write
demo: gather texts that are on every machine with this package -> select
"""
