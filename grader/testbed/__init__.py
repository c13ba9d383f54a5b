"""What is measured: small seeded models and data, Hugging Face models from config, hub loading."""
