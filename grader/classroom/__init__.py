"""Grade a class, in packages by stage; each imports only those below it, and none imports torch."""
