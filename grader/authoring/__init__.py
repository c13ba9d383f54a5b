"""From a lesson's source to the released notebook, and the proof that its checks hold; without torch."""
