"""The pictures, as Vega-Lite charts: one spec gives both the PNG and the interactive chart."""
