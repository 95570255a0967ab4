"""Decision rules for where this package is not: ONNX, SQL, Python source and JSON."""
