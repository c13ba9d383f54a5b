"""References and misconceptions of lesson 21: quantization and LoRA."""
