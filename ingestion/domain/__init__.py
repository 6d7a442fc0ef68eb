"""The language of ingestion: pure Python, no Django, no clock, no input or output."""
