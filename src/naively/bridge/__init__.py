"""Where the two faces meet: model files as estimators, the command's job on data in memory."""
