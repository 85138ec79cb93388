"""Any Gymnasium env as a batch with restorable episodes, and our own tasks."""
