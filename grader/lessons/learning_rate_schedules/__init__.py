"""Cases and checks of lesson 09: learning-rate schedules."""
