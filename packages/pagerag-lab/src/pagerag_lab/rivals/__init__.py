"""Choose from a pool: promotion and what it is compared with, behind one protocol."""
