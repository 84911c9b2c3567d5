"""Real servers on loopback, for tests and benchmarks: PostgreSQL and an object store."""
