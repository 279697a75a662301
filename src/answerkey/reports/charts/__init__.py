"""Charts as plain Vega-Lite specs: drawn in the browser, or written as PNG with the extra `charts`."""
