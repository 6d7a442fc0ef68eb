"""What a watcher asks: is the process alive, is it ready to serve, and how does the work stand."""
