"""The process: the loop, its inbox, the threads that act and poll, health, options."""
