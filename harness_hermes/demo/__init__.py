"""The demonstration: one inquiry from belief to conclusion, on a real Hermes or on the library alone."""
