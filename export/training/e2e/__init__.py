"""The recipe of embedded-e2e, a small specialist for E2E restaurants; README.md says why it is as it is."""
