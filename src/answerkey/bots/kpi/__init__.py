"""How the KPI bot works: a catalogue of figures, a reader of questions, a database, a writer of reports."""
