"""Cases, checks and recorders of lesson 21: quantization and LoRA."""
