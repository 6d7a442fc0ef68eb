"""Reading English by rules: words and their stems, what a question asks for, where sentences and rows begin and end. No model.

Of other languages it knows nothing; there the readers that rest on it find less and abstain more.
"""
