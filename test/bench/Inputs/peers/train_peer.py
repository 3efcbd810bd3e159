"""A peer whose speed is known."""
print("{\"tokens_s\": 1000.0, \"compile\": \"none\"}")
print("{\"tokens_s\": 2000.0, \"compile\": \"block\"}")
