"""Room 7: reports, written from a run's folder for the people and programs that read them."""
