"""Cases and checks of lesson 13: compilation."""
