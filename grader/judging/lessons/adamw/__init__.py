"""References and misconceptions of lesson 06: AdamW."""
