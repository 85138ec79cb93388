"""The inspector: recorded episodes, one or two policies side by side, step by step."""
