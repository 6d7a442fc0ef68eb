"""Django's PostgreSQL backend for the embedded server: every new connection uses the password that the home holds now."""
