"""Settings of the site: `env` reads the environment, `base` is the product, `test` the test run."""
