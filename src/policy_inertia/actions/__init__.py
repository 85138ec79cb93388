"""What an action is: the operations that every other layer uses instead of assuming an integer."""
