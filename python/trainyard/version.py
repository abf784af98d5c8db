"""The version, which must be the program's."""
VERSION = "0.1.0"
